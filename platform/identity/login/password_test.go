package login_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"example.com/plenary/platform/identity/login"
)

func TestHashIsForOnePasswordUnderOneSalt(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"demo", "", "pässwörd\x00 with everything", strings.Repeat("long ", 1000)} {
		one, err1 := login.Hash(password)
		two, err2 := login.Hash(password)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if one == two {
			t.Errorf("%.10q: two hashes are alike", password)
		}
		if !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(one, "demo") {
			t.Errorf("hash %s", one)
		}
		for other, want := range map[string]bool{password: true, password + " ": false, "x": false} {
			if match, err := login.Verify(other, one); match != want || err != nil {
				t.Errorf("%.10q against the hash of %.10q: %v, %v", other, password, match, err)
			}
		}
	}
}

// Hashes that were made at another cost stay valid.
func TestHashesOfAnotherCost(t *testing.T) {
	t.Parallel()
	salt := []byte("salt of 16 bytes")
	text := base64.RawStdEncoding.EncodeToString
	for params, key := range map[string][]byte{
		"m=8,t=1,p=1":     argon2.IDKey([]byte("demo"), salt, 1, 8, 1, 32),
		"m=4096,t=3,p=4":  argon2.IDKey([]byte("demo"), salt, 3, 4096, 4, 16),
		"m=19456,t=2,p=1": argon2.IDKey([]byte("demo"), salt, 2, 19456, 1, 64),
	} {
		encoded := "$argon2id$v=19$" + params + "$" + text(salt) + "$" + text(key)
		right, err1 := login.Verify("demo", encoded)
		wrong, err2 := login.Verify("Demo", encoded)
		if !right || wrong || err1 != nil || err2 != nil {
			t.Errorf("%s: %v %v, %v %v", params, right, wrong, err1, err2)
		}
	}
}

// None of these may panic, take all memory, or match.
func TestBadHashesAreRefused(t *testing.T) {
	t.Parallel()
	const (
		salt = "c2FsdCBvZiAxNiBieXRlcw"
		key  = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		good = "$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + key
	)
	if _, err := login.Verify("demo", good); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for name, bad := range map[string]string{
		"empty":            "",
		"a word":           "demo",
		"another scheme":   "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
		"another variant":  strings.Replace(good, "argon2id", "argon2i", 1),
		"another version":  strings.Replace(good, "v=19", "v=16", 1),
		"no version":       strings.Replace(good, "$v=19", "", 1),
		"something before": "x" + good,
		"something after":  good + "$",
		"a line after":     good + "\n",
		"no passes":        strings.Replace(good, "t=1", "t=0", 1),
		"no lanes":         strings.Replace(good, "p=1", "p=0", 1),
		"no memory":        strings.Replace(good, "m=8", "m=0", 1),
		"all memory":       strings.Replace(good, "m=8", "m=4294967295", 1),
		"for ever":         strings.Replace(good, "t=1", "t=4294967295", 1),
		"too many lanes":   strings.Replace(good, "p=1", "p=255", 1),
		"lanes overflow":   strings.Replace(good, "p=1", "p=257", 1),
		"more parameters":  strings.Replace(good, "p=1", "p=1,keyid=7", 1),
		"signed":           strings.Replace(good, "m=8", "m=+8", 1),
		"leading zero":     strings.Replace(good, "m=8", "m=08", 1),
		"another order":    strings.Replace(good, "m=8,t=1,p=1", "t=1,m=8,p=1", 1),
		"no salt":          strings.Replace(good, salt, "", 1),
		"short salt":       strings.Replace(good, salt, "c2FsdA", 1),
		"salt is no text":  strings.Replace(good, salt, "!!!!!!!!!!!!!!!!!!!!!!", 1),
		"salt is padded":   strings.Replace(good, salt, salt+"==", 1),
		"salt has a line":  strings.Replace(good, salt, salt[:4]+"\n"+salt[4:], 1),
		"salt has a tail":  strings.Replace(good, salt, salt[:21]+"x", 1),
		"no key":           strings.Replace(good, key, "", 1),
		"short key":        strings.Replace(good, key, "AAAA", 1),
		"long key":         strings.Replace(good, key, key+key+key, 1),
	} {
		if bad == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if match, err := login.Verify("demo", bad); match || err == nil {
			t.Errorf("%s: %v, %v", name, match, err)
		}
	}
}
