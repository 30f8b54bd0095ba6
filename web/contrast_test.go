package web

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

var pair = regexp.MustCompile(`--([a-z-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`)

// luminance is the relative luminance of WCAG.
func luminance(hex string) float64 {
	channel := func(i int) float64 {
		n, _ := strconv.ParseUint(hex[i:i+2], 16, 8)
		c := float64(n) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(0) + 0.7152*channel(2) + 0.0722*channel(4)
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// Whatever is written can be read, in both themes: 4.5 to 1 for words, 3 to 1 for the edges of what is used.
func TestContrast(t *testing.T) {
	t.Parallel()
	colours := map[string][2]string{}
	for _, m := range pair.FindAllStringSubmatch(string(newSite(t).static.files["plenary.css"]), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	check := func(least float64, ink string, papers ...string) {
		for _, paper := range papers {
			for i, theme := range []string{"light", "dark"} {
				a, b := colours[ink][i], colours[paper][i]
				if a == "" || b == "" {
					t.Fatalf("--%s or --%s is not a pair of colours", ink, paper)
				}
				if got := contrast(a, b); got < least {
					t.Errorf("%s on %s, %s: %.2f to 1, want %.1f", ink, paper, theme, got, least)
				}
			}
		}
	}
	check(4.5, "ink", "paper", "sheet", "sunk", "busy-bg")
	check(4.5, "ink-soft", "paper", "sheet", "sunk")
	check(4.5, "accent", "paper", "sheet", "sunk")
	check(4.5, "accent-deep", "paper", "sheet")
	check(4.5, "on-accent", "accent", "accent-deep")
	check(4.5, "paper", "ink")
	for _, tone := range []string{"good", "busy", "wait", "bad", "calm"} {
		check(4.5, tone, tone+"-bg")
	}
	check(4.5, "bad", "paper", "sheet")
	check(3, "edge", "paper", "sheet")
	if got := contrast("ffffff", "000000"); math.Abs(got-21) > 0.01 {
		t.Errorf("white on black is %.2f to 1", got)
	}
}
