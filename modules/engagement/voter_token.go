package engagement

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

const (
	// tokenPrefix tells a voter's token from a session's, which has no dot.
	tokenPrefix = "voter."
	// tokenLife outlasts a conference. A join with a token that is still good renews it.
	tokenLife = 14 * 24 * time.Hour
	// MinSigningKey is how many bytes Deps.SigningKey has at least.
	MinSigningKey = 32
)

// voterTokens makes and reads the proof that somebody has joined a room: the room, the voter and the time, signed. Nothing
// of it is stored. All replicas have the same key; with another one, every voter without an account is a new one.
type voterTokens struct {
	key []byte
	now func() time.Time
}

const (
	tokenClaims = 16 + 16 + 8
	tokenSize   = tokenClaims + sha256.Size
)

// sign is told apart from other uses of the key by its first words.
func (t *voterTokens) sign(claims []byte) []byte {
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte("engagement.voter\x00"))
	mac.Write(claims)
	return mac.Sum(nil)
}

func (t *voterTokens) issue(room, voter uuid.UUID) string {
	if len(t.key) == 0 {
		panic("engagement: a token is asked for before Start") // anybody could sign with no key
	}
	return t.encode(room, voter)
}

func (t *voterTokens) encode(room, voter uuid.UUID) string {
	claims := append(append(make([]byte, 0, tokenSize), room[:]...), voter[:]...)
	claims = binary.BigEndian.AppendUint64(claims, uint64(t.now().Unix()))
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(claims, t.sign(claims)...))
}

// read returns what was signed, unless that is too long ago.
func (t *voterTokens) read(token string) (room, voter uuid.UUID, ok bool) {
	text, found := strings.CutPrefix(token, tokenPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if len(t.key) == 0 || !found || err != nil || len(raw) != tokenSize || !hmac.Equal(t.sign(raw[:tokenClaims]), raw[tokenClaims:]) {
		return uuid.Nil, uuid.Nil, false
	}
	issued := time.Unix(int64(binary.BigEndian.Uint64(raw[32:tokenClaims])), 0)
	if t.now().Sub(issued) >= tokenLife {
		return uuid.Nil, uuid.Nil, false
	}
	return uuid.UUID(raw[:16]), uuid.UUID(raw[16:32]), true
}

// Authenticator returns one that knows the tokens of voters, and asks next about all others. It asks no database.
func (m *Module) Authenticator(next httpx.Authenticator) httpx.Authenticator {
	return voterAuthenticator{m.tokens, next}
}

type voterAuthenticator struct {
	tokens *voterTokens
	next   httpx.Authenticator
}

// Authenticate returns the principal of a voter, or what next says.
func (a voterAuthenticator) Authenticate(ctx context.Context, token string) (identity.Principal, error) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return a.next.Authenticate(ctx, token)
	}
	room, voter, ok := a.tokens.read(token)
	if !ok {
		return identity.Principal{}, fault.New(fault.Unauthenticated, "engagement.voter_token", "the voter's token is not valid, or no longer")
	}
	return voterPrincipal(room, voter), nil
}
