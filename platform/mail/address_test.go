package mail

import (
	netmail "net/mail"
	"strings"
	"testing"

	"example.com/plenary/platform/fault"
)

var goodAddresses = []string{
	"alice@example.com", "a@b", "first.last+tag@sub.example.co.uk", "o'brien@example.com", "x_y-z@xn--mller-kva.example",
	"UPPER@EXAMPLE.COM", "1@2.example", "=?utf-8?q?x?=@example.com", strings.Repeat("a", 64) + "@example.com",
}

var badAddresses = []string{
	"", "alice", "@", "alice@", "@example.com", "a@b@c", " alice@example.com", "alice@example.com ", "alice@exa mple.com",
	`"a@evil.test> NOTIFY=SUCCESS"@b.test`, `"quoted"@b.test`, "a@b.test\nDATA", "a@b.test\r\nRCPT TO:<x@evil.test>", "a\x00@b.test",
	"a@b.test>", "<a@b.test>", "a@b.test,x@evil.test", "a@b.test;x@evil.test", "a(comment)@b.test", "Alice <a@b.test>",
	"a..b@c.test", ".a@c.test", "a.@c.test", "a@.test", "a@b..test", "a@b.test.", "a@-b.test", "a@b-.test", "a@b_c.test",
	"a@[127.0.0.1]", "a@127.0.0.1", "a%evil.test@b.test", "evil.test!a@b.test", "-oQ/tmp@b.test", "müller@example.com", "a@müller.example",
	strings.Repeat("a", 65) + "@b.test", "a@" + strings.Repeat("b", 64) + ".test", "a@" + strings.Repeat("b.", 130) + "test",
	strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 95) + "t",
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, address := range goodAddresses {
		if err := CheckAddress(address); err != nil {
			t.Errorf("CheckAddress(%q) = %v", address, err)
		}
	}
	for _, address := range badAddresses {
		err := CheckAddress(address)
		if !fault.Is(err, "mail.bad_address") || fault.KindOf(err) != fault.Invalid {
			t.Errorf("CheckAddress(%q) = %v", address, err)
		} else if len(address) > 8 && strings.Contains(err.Error(), address) {
			t.Errorf("the refusal repeats %q", address)
		}
	}
}

// FuzzAddress: what is allowed has one reading only, ours.
func FuzzAddress(f *testing.F) {
	for _, address := range append(goodAddresses, badAddresses...) {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if CheckAddress(address) != nil {
			return
		}
		parsed, err := netmail.ParseAddressList(address)
		if err != nil || len(parsed) != 1 || parsed[0].Address != address || parsed[0].Name != "" {
			t.Errorf("%q is allowed, and reads as %v (%v)", address, parsed, err)
		}
		if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>",;:()[]\`, r) }) {
			t.Errorf("%q is allowed", address)
		}
	})
}
