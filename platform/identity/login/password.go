package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// maxPassword bounds what is hashed, in bytes; nobody types more.
const maxPassword = 1024

// cost is what one hash takes. It is written into each, so it can be raised later: old hashes stay valid.
type cost struct {
	memory uint32 // KiB
	passes uint32
	lanes  uint8
}

var presentCost = cost{memory: 19 * 1024, passes: 2, lanes: 1}

const (
	saltBytes = 16
	hashBytes = 32
)

// hasher bounds how many hashes are computed at once: each takes its memory and tens of milliseconds of a core,
// and whoever guesses passwords must not get all of either.
type hasher struct {
	slots  chan struct{}
	derive func(password, salt []byte, passes, memory uint32, lanes uint8, length uint32) []byte
}

func newHasher(atOnce int) *hasher {
	return &hasher{slots: make(chan struct{}, atOnce), derive: argon2.IDKey}
}

// enter waits for a free place, as long as ctx lasts; leave gives it back.
func (h *hasher) enter(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *hasher) leave() { <-h.slots }

// hash waits for its turn and returns the encoded argon2id hash of a password under a new salt.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.leave()
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // it cannot fail
	c := presentCost
	return encode(c, salt, h.derive([]byte(password), salt, c.passes, c.memory, c.lanes, hashBytes)), nil
}

// verify reports whether password is the one behind an encoded hash. The caller has entered.
func (h *hasher) verify(password, encoded string) (bool, error) {
	c, salt, want, err := decode(encoded)
	if err != nil {
		return false, err
	}
	got := h.derive([]byte(password), salt, c.passes, c.memory, c.lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

var encoding = base64.RawStdEncoding

func encode(c cost, salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.passes, c.lanes,
		encoding.EncodeToString(salt), encoding.EncodeToString(key))
}

var errBadHash = errors.New("the stored password hash cannot be read")

// decode reads what encode wrote, and nothing else. What is outside of all reason is refused as well: the
// algorithm would panic, or take all memory that there is.
func decode(encoded string) (c cost, salt, key []byte, err error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 {
		return cost{}, nil, nil, errBadHash
	}
	_, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes)
	if err == nil {
		salt, err = encoding.DecodeString(parts[4])
	}
	if err == nil {
		key, err = encoding.DecodeString(parts[5])
	}
	reasonable := c.lanes >= 1 && c.lanes <= 16 && c.passes >= 1 && c.passes <= 64 && c.memory >= 8 && c.memory <= 1<<20 &&
		len(salt) >= 8 && len(salt) <= 64 && len(key) >= 16 && len(key) <= 64
	if err != nil || !reasonable || encode(c, salt, key) != encoded {
		return cost{}, nil, nil, errBadHash
	}
	return c, salt, key, nil
}
