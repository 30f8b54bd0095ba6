package scoring

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
)

// The prompt's name and version are stored with every score. A new text needs a new version, and a line in
// testdata/prompts.txt.
const (
	promptName    = "session-scoring"
	promptVersion = 1
)

//go:embed prompt.md
var promptText string

// PromptInfo says which text a judge was given. Hash is the SHA-256 of the text in hexadecimal, and empty where
// there is no text.
type PromptInfo struct {
	Name    string
	Version int
	Hash    string
}

var prompt = PromptInfo{Name: promptName, Version: promptVersion, Hash: hashOf([]byte(promptText))}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
