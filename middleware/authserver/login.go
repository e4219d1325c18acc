package authserver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// DevLogin returns a login page for development: a list of names, without passwords. New refuses it
// unless the issuer is on loopback.
func DevLogin(users ...User) Users {
	return &localUsers{
		listed: users,
		lookup: func(_ context.Context, subject string) (*User, error) {
			i := slices.IndexFunc(users, func(u User) bool { return u.Subject == subject })
			if i < 0 {
				return nil, ErrUnknown
			}
			return &users[i], nil
		},
	}
}

// Passwords returns a login page with name and password. check compares them, and must take as long
// for unknown names. For a wrong name or password, it returns ErrUnknown. The login lasts until the
// browser is closed, at most 12 hours. [Limit] limits attempts, per address and per name.
func Passwords(check func(ctx context.Context, name, password string) (*User, error), lookup func(ctx context.Context, subject string) (*User, error)) Users {
	return &localUsers{check: check, lookup: lookup}
}

// localUsers logs users in on a page of the server.
type localUsers struct {
	listed []User
	check  func(ctx context.Context, name, password string) (*User, error) // nil in DevLogin
	lookup func(ctx context.Context, subject string) (*User, error)
	server *Server
	names  counter
}

const (
	userCookie  = "as-user"
	loginCookie = "as-login"
	loginLife   = 12 * time.Hour
	maxPassword = 1 << 10
)

// loggedIn is the content of a user's sealed cookie.
type loggedIn struct {
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
}

func (l *localUsers) bind(s *Server) error {
	l.server = s
	switch {
	case l.check == nil && !isLoopback(s.base):
		return errors.New("authserver: DevLogin has no passwords, so the issuer must be on loopback")
	case l.check == nil && len(l.listed) == 0:
		return errors.New("authserver: DevLogin has no users")
	case l.lookup == nil:
		return errors.New("authserver: Passwords has no lookup")
	}
	var faults []error
	for i := range l.listed {
		if l.listed[i].Subject == "" {
			faults = append(faults, errors.New("authserver: DevLogin: a user has no Subject"))
		}
		faults = append(faults, s.judgeUser(&l.listed[i]))
	}
	return errors.Join(faults...)
}

// Current returns the user of the cookie.
func (l *localUsers) Current(ctx context.Context, r *http.Request) (*User, error) {
	var in loggedIn
	sealed := l.server.cookie(r, userCookie)
	if sealed == "" || l.server.sealer.open("user", sealed, &in) != nil || time.Since(in.At) > loginLife {
		return nil, ErrNobody
	}
	u, err := l.lookup(ctx, in.Subject)
	if errors.Is(err, ErrUnknown) {
		return nil, ErrNobody
	}
	return u, err
}

// Login shows the page at once.
func (l *localUsers) Login(w http.ResponseWriter, r *http.Request, back string) {
	l.server.page(func(w http.ResponseWriter, r *http.Request) error { return l.show(w, r, back, &LoginPage{}) })(w, r)
}

// Lookup calls the program's function.
func (l *localUsers) Lookup(ctx context.Context, subject string) (*User, error) {
	return l.lookup(ctx, subject)
}

// ours reports whether back is a visit of this server. Browsers are redirected nowhere else.
func (l *localUsers) ours(back string) bool {
	id, ok := strings.CutPrefix(back, l.server.path("/consent")+"?visit=")
	return ok && !strings.ContainsFunc(id, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

func (l *localUsers) handlePage(w http.ResponseWriter, r *http.Request) error {
	return l.show(w, r, r.URL.Query().Get("back"), &LoginPage{})
}

// show renders the page for one browser.
func (l *localUsers) show(w http.ResponseWriter, r *http.Request, back string, page *LoginPage) error {
	if !l.ours(back) {
		return pageFault(http.StatusBadRequest, msgForm, nil)
	}
	s := l.server
	cookie := s.cookie(r, loginCookie)
	if cookie == "" {
		cookie = rand.Text()
		s.setCookie(w, r, loginCookie, cookie, 0)
	}
	_, id, _ := strings.Cut(back, "?visit=")
	if v, err := s.visits.get(r.Context(), id); err == nil {
		if c, err := s.client(r.Context(), v.Client); err == nil {
			page.Client = c.Name
		}
	}
	if l.check == nil {
		for _, u := range l.listed {
			page.Names = append(page.Names, u.Subject)
		}
	}
	page.Action, page.Form = s.path("/login"), map[string]string{"back": back, "token": loginToken(cookie)}
	status := http.StatusOK
	switch {
	case page.Limited > 0:
		status = http.StatusTooManyRequests
	case page.Failed:
		status = http.StatusForbidden
	}
	return s.render(w, r, status, func(p Pages, out io.Writer, nonce string) error { return p.Login(out, nonce, page) })
}

func loginToken(cookie string) string { return base64url(digest("login", cookie)) }

// handleForm logs a user in. A page of another site cannot do that, because it has neither the
// cookie nor the token.
func (l *localUsers) handleForm(w http.ResponseWriter, r *http.Request) error {
	s := l.server
	f, err := form(w, r)
	if err != nil {
		return pageFault(http.StatusBadRequest, msgForm, err)
	}
	cookie, back, name := s.cookie(r, loginCookie), f.Get("back"), f.Get("name")
	switch {
	case cookie == "":
		return pageFault(http.StatusBadRequest, msgNoCookie, nil)
	case !s.sameSite(r) || subtle.ConstantTimeCompare([]byte(f.Get("token")), []byte(loginToken(cookie))) != 1:
		return pageFault(http.StatusForbidden, msgOtherSite, nil)
	case !l.ours(back):
		return pageFault(http.StatusBadRequest, msgForm, nil)
	}
	wait := s.limited(atLogin, r)
	if wait == 0 { // attempts that were refused because of their address do not count for the name
		one := strings.ToLower(strings.TrimSpace(name)) // check may take other spellings for the same user
		wait = l.names.over(shortDigest("name", one), s.limits[atLogin], time.Now())
	}
	if wait > 0 {
		s.emit(r, Event{Kind: LoginFailed, Reason: "too many attempts"})
		w.Header().Set("Retry-After", seconds(wait))
		return l.show(w, r, back, &LoginPage{Limited: wait})
	}
	u, err := l.checked(r.Context(), name, f.Get("password"))
	if errors.Is(err, ErrUnknown) {
		s.emit(r, Event{Kind: LoginFailed, Reason: "wrong name or password"})
		return l.show(w, r, back, &LoginPage{Failed: true})
	}
	if err != nil {
		return err
	}
	sealed, err := s.sealer.seal("user", loggedIn{u.Subject, time.Now()})
	if err != nil {
		return err
	}
	s.setCookie(w, r, userCookie, sealed, 0)
	s.emit(r, Event{Kind: LoggedIn, Subject: u.Subject})
	http.Redirect(w, r, back, http.StatusSeeOther)
	return nil
}

func (l *localUsers) checked(ctx context.Context, name, password string) (*User, error) {
	if l.check == nil {
		return l.lookup(ctx, name)
	}
	if len(name) > maxPassword || len(password) > maxPassword {
		return nil, ErrUnknown
	}
	u, err := l.check(ctx, name, password)
	if err == nil && (u == nil || u.Subject == "") {
		err = errors.New("authserver: the check of Passwords returned a user without a subject")
	}
	return u, err
}
