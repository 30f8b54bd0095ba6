package login

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// Deps is what the service needs.
type Deps struct {
	Source      *postgres.Source // of the default database, named "platform"
	Pipeline    *command.Pipeline
	Permissions *identity.Permissions
	// SessionLength is how long a sign-in lasts; 0 means 30 days.
	SessionLength time.Duration
	Limits        Limits // for guessing; DefaultLimits if zero
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
	attempts    *attempts
	decoy       string // the hash that an unknown address is compared with
}

// Session is a sign-in. Token is shown this once.
type Session struct {
	Token     string
	ExpiresOn time.Time
	User      User
}

// New returns a service, and registers its commands with the pipeline.
func New(d Deps) (*Service, error) {
	s := &Service{
		source: d.Source, permissions: d.Permissions, length: d.SessionLength, hasher: newHasher(max(2, runtime.NumCPU())),
		attempts: newAttempts(cmp.Or(d.Limits, DefaultLimits())),
	}
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
// An address that nobody has goes the same way as one with a wrong password, to the hash and back.
func (s *Service) signIn(ctx context.Context, cmd SignIn) (Session, error) {
	who := attemptOf(ctx, cmd.Email)
	if err := s.attempts.refuse(who); err != nil { // before it waits in line with those who may
		return Session{}, err
	}
	u, stored, err := s.byEmail(ctx, s.source, cmd.Email)
	known := err == nil
	if errors.Is(err, pgx.ErrNoRows) {
		stored, err = s.decoy, nil
	}
	if err != nil {
		return Session{}, fmt.Errorf("read user: %w", err)
	}
	match, err := s.try(ctx, who, known, cmd.Password, stored)
	if err != nil {
		return Session{}, fmt.Errorf("compare the password of user %s: %w", u.ID, err)
	}
	if !match {
		return Session{}, errCredentials
	}
	session := Session{Token: rand.Text() + rand.Text(), User: u}
	err = s.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		if err := s.signOut(ctx, tx, SignOut{Token: cmd.Replaces}); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			INSERT INTO platform.sessions (token_hash, user_id, expires_on) VALUES ($1, $2, now() + $3::interval) RETURNING expires_on`,
			hashOf(session.Token), u.ID, s.length).Scan(&session.ExpiresOn)
		if err != nil {
			return err
		}
		ctx = identity.WithPrincipal(ctx, identity.User(u.ID)) // nobody was signed in until now
		return audit.Performed(ctx, tx, "platform.session", u.ID.String(), sessionAct{"sign_in"})
	})
	if postgres.Code(err) == postgres.ForeignKeyViolation { // the user was removed meanwhile
		return Session{}, errCredentials
	}
	if err != nil {
		return Session{}, fmt.Errorf("begin session: %w", err)
	}
	return session, nil
}

// try is one attempt: it compares the password, and takes note of what came of it.
func (s *Service) try(ctx context.Context, who attempt, known bool, password, stored string) (match bool, err error) {
	if err := s.hasher.enter(ctx); err != nil {
		return false, err
	}
	defer s.hasher.leave()
	if err := s.attempts.begin(who); err != nil {
		return false, err
	}
	match, err = s.hasher.verify(password[:min(len(password), maxPassword)], stored)
	match = match && known && len(password) <= maxPassword
	switch {
	case err != nil:
		s.attempts.withdraw(who)
	case match:
		s.attempts.succeed(who)
	default:
		s.attempts.fail(who)
	}
	return match, err
}

// SignOut ends the session of a token. A token that is unknown is ended already.
type SignOut struct{ Token string }

// Policy has no permission: everybody may leave.
func (SignOut) Policy() command.Policy { return command.Policy{Name: "identity.sign_out"} }

func (s *Service) signOut(ctx context.Context, tx *postgres.Tx, cmd SignOut) error {
	var user uuid.UUID
	err := tx.QueryRow(ctx, `DELETE FROM platform.sessions WHERE token_hash = $1 RETURNING user_id`, hashOf(cmd.Token)).Scan(&user)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return audit.Performed(ctx, tx, "platform.session", user.String(), sessionAct{"sign_out"})
}

// sessionAct is what the trail keeps of a sign-in or a sign-out.
type sessionAct struct {
	Action string `json:"action"`
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

// PurgeSessions removes at most limit sessions that are over, and returns how many have gone.
func PurgeSessions(ctx context.Context, tx *postgres.Tx, limit int) (int, error) {
	tag, err := tx.Exec(ctx, `
		DELETE FROM platform.sessions WHERE token_hash IN (
			SELECT token_hash FROM platform.sessions WHERE expires_on <= now() ORDER BY expires_on LIMIT $1 FOR UPDATE SKIP LOCKED)`, limit)
	if err != nil {
		return 0, fmt.Errorf("purge sessions: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
