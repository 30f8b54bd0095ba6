package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// maxPassword bounds what is hashed; nobody types more.
const maxPassword = 1024

// Deps is what the service needs.
type Deps struct {
	Source      *postgres.Source // of the default database, named "platform"
	Pipeline    *command.Pipeline
	Permissions *identity.Permissions
	// SessionLength is how long a sign-in lasts; 0 means 30 days.
	SessionLength time.Duration
}

// Service signs users in and out. It is safe for concurrent use.
type Service struct {
	// SignIn and SignOut are the doors of the two commands.
	SignIn  command.ResultFunc[SignIn, Session]
	SignOut command.Func[SignOut]

	source      *postgres.Source
	permissions *identity.Permissions
	length      time.Duration
	hasher      *hasher
	decoy       string // the hash that an unknown address is compared with
}

// User is somebody who can sign in.
type User struct {
	ID    uuid.UUID
	Email string
	Name  string
	Roles []string
}

// Session is a sign-in. Token is shown this once.
type Session struct {
	Token     string
	ExpiresOn time.Time
	User      User
}

// New returns a service, and registers its commands with the pipeline.
func New(d Deps) (*Service, error) {
	s := &Service{source: d.Source, permissions: d.Permissions, length: d.SessionLength, hasher: newHasher(max(2, runtime.NumCPU()))}
	if s.length == 0 {
		s.length = 30 * 24 * time.Hour
	}
	var err error
	if s.decoy, err = s.hasher.hash(context.Background(), rand.Text()); err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	s.SignIn = command.HandleOutsideResult(d.Pipeline, d.Source, s.signIn)
	s.SignOut = command.Handle(d.Pipeline, d.Source, s.signOut)
	return s, nil
}

// SignIn asks for a session. Replaces is the token of a session that the user leaves behind, or "": a token that
// was planted before the sign-in is worth nothing after it.
type SignIn struct{ Email, Password, Replaces string }

// Policy has no permission: whoever signs in has none yet.
func (SignIn) Policy() command.Policy {
	return command.Policy{Name: "identity.sign_in", Timeout: 10 * time.Second}
}

var errCredentials = fault.New(fault.Unauthenticated, "invalid_credentials", "the address or the password is wrong")

// signIn compares hashes outside of a transaction: that takes long enough to be counted as a call elsewhere.
func (s *Service) signIn(ctx context.Context, cmd SignIn) (Session, error) {
	u, stored, err := s.byEmail(ctx, cmd.Email)
	known := err == nil
	if errors.Is(err, pgx.ErrNoRows) {
		stored, err = s.decoy, nil
	}
	if err != nil {
		return Session{}, fmt.Errorf("read user: %w", err)
	}
	match, err := s.hasher.verify(ctx, cmd.Password[:min(len(cmd.Password), maxPassword)], stored)
	if err != nil {
		return Session{}, err
	}
	if !known || !match || len(cmd.Password) > maxPassword {
		return Session{}, errCredentials
	}
	session := Session{Token: rand.Text() + rand.Text(), User: u}
	err = s.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM platform.sessions WHERE token_hash = $1`, hashOf(cmd.Replaces)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			INSERT INTO platform.sessions (token_hash, user_id, expires_on) VALUES ($1, $2, now() + $3::interval) RETURNING expires_on`,
			hashOf(session.Token), u.ID, s.length).Scan(&session.ExpiresOn)
	})
	return session, err
}

func (s *Service) byEmail(ctx context.Context, email string) (u User, hash string, err error) {
	err = s.source.QueryRow(ctx, `SELECT id, email, name, roles, password_hash FROM platform.users WHERE lower(email) = lower($1)`, email).
		Scan(&u.ID, &u.Email, &u.Name, &u.Roles, &hash)
	return u, hash, err
}

// SignOut ends the session of a token. A token that is unknown is ended already.
type SignOut struct{ Token string }

// Policy has no permission: everybody may leave.
func (SignOut) Policy() command.Policy { return command.Policy{Name: "identity.sign_out"} }

func (s *Service) signOut(ctx context.Context, tx *postgres.Tx, cmd SignOut) error {
	_, err := tx.Exec(ctx, `DELETE FROM platform.sessions WHERE token_hash = $1`, hashOf(cmd.Token))
	return err
}

// Authenticate returns the owner of a token, with the roles held now. Unauthenticated ("session_ended") if the
// token is unknown or its session is over; Unavailable if the database cannot be asked.
func (s *Service) Authenticate(ctx context.Context, token string) (identity.Principal, error) {
	var id uuid.UUID
	var roles []string
	err := s.source.QueryRow(ctx, `
		SELECT u.id, u.roles FROM platform.sessions s JOIN platform.users u ON u.id = s.user_id
		WHERE s.token_hash = $1 AND s.expires_on > now()`, hashOf(token)).Scan(&id, &roles)
	if errors.Is(err, pgx.ErrNoRows) {
		return identity.Principal{}, fault.New(fault.Unauthenticated, "session_ended", "the session has ended; sign in again")
	}
	if err != nil {
		return identity.Principal{}, fmt.Errorf("read session: %w", err)
	}
	return identity.User(id, roles...), nil
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
