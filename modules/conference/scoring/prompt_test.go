package scoring

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Scores are compared by the version of their prompt. So a version stands for one text and one schema, for ever:
// testdata/prompts.txt has a line for each, and lines are only added.
func TestPromptChangesWithItsVersion(t *testing.T) {
	t.Parallel()
	schema, err := json.Marshal(answerSchema())
	if err != nil {
		t.Fatal(err)
	}
	now := strings.Join([]string{strconv.Itoa(promptVersion), prompt.Hash, hashOf(schema)}, " ")
	written, err := os.ReadFile("testdata/prompts.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(written)), "\n")
	for i, line := range lines {
		if version, _, _ := strings.Cut(line, " "); version != strconv.Itoa(i+1) {
			t.Errorf("line %d is about version %s", i+1, version)
		}
	}
	if last := lines[len(lines)-1]; last != now {
		t.Errorf("prompt.md or the schema of the answer is not what version %d was:\n%s\n"+
			"Raise promptVersion and add a line to testdata/prompts.txt:\n%d%s", promptVersion, last, len(lines)+1, strings.TrimLeft(now, "0123456789"))
	}
}

func TestPromptNamesEveryCriterion(t *testing.T) {
	t.Parallel()
	for _, c := range criteria {
		if !strings.Contains(promptText, "- "+c.name+":") {
			t.Errorf("the prompt does not explain %s", c.name)
		}
	}
}
