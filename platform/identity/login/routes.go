package login

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

// UserView is a user as the API shows it.
type UserView struct {
	ID          uuid.UUID             `json:"id"`
	Email       string                `json:"email"`
	Name        string                `json:"name"`
	Roles       []string              `json:"roles"`
	Permissions []identity.Permission `json:"permissions"`
}

// SessionView is the answer to a sign-in.
type SessionView struct {
	Token string   `json:"token"`
	User  UserView `json:"user"`
}

// Routes declares the API of signing in and out.
func (s *Service) Routes(api *httpx.API) {
	const tag = "Auth"
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/auth/login", ID: "login", Tags: []string{tag}, Summary: "Sign in",
		Description: "The token serves as bearer; the same session comes as a cookie.", Errors: []int{401},
		NonIdempotent: "each sign-in is a session of its own, and a stored answer would hold its token",
	}, s.postLogin)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/auth/logout", ID: "logout", Tags: []string{tag}, Summary: "Sign out",
		NonIdempotent: "a session that has ended stays ended",
	}, s.postLogout)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/auth/me", ID: "me", Tags: []string{tag}, Summary: "Who is asking", SignedIn: true,
	}, s.getMe)
}

type postLoginInput struct {
	Session string `cookie:"plenary_session"`
	Body    struct {
		Email    string `json:"email" format:"email"`
		Password string `json:"password"`
	}
}

func (s *Service) postLogin(ctx context.Context, in postLoginInput) (httpx.Response[SessionView], error) {
	session, err := s.SignIn(ctx, SignIn{Email: in.Body.Email, Password: in.Body.Password, Replaces: in.Session})
	if err != nil {
		return httpx.Response[SessionView]{}, err
	}
	view := SessionView{Token: session.Token, User: s.view(session.User)}
	return httpx.OK(view).WithCookie(httpx.NewSessionCookie(session.Token, s.length)), nil
}

type postLogoutInput struct {
	Session string `cookie:"plenary_session"`
	Bearer  string `header:"Authorization"`
}

// postLogout ends the session that the request came by: the bearer token's if there is one, which leaves a
// cookie alone, and else the cookie's.
func (s *Service) postLogout(ctx context.Context, in postLogoutInput) (httpx.Response[httpx.Empty], error) {
	scheme, bearer, _ := strings.Cut(in.Bearer, " ")
	if strings.EqualFold(scheme, "Bearer") {
		return httpx.NoContent(), s.SignOut(ctx, SignOut{Token: strings.TrimSpace(bearer)})
	}
	err := s.SignOut(ctx, SignOut{Token: in.Session})
	return httpx.NoContent().WithCookie(httpx.EndSessionCookie()), err
}

func (s *Service) getMe(ctx context.Context, _ struct{}) (httpx.Response[UserView], error) {
	id, _ := identity.PrincipalOf(ctx).UserID()
	u, err := s.ByID(ctx, id)
	if fault.KindOf(err) == fault.NotFound {
		return httpx.Response[UserView]{}, fault.New(fault.Unauthenticated, "session_ended", "the user is gone")
	}
	return httpx.OK(s.view(u)), err
}

func (s *Service) view(u User) UserView {
	return UserView{
		ID: u.ID, Email: u.Email, Name: u.Name, Roles: u.Roles, Permissions: s.permissions.Of(identity.User(u.ID, u.Roles...)),
	}
}
