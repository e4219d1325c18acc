package authserver

import (
	"bytes"
	"crypto/rand"
	_ "embed" // for pages.html
	"errors"
	"html/template"
	"io"
	"net/http"
	"time"
)

// Consent is the content of the consent page. All strings are text, not HTML.
type Consent struct {
	Client     Client
	ClientHost string // proven host of the client's document; otherwise empty
	Redirect   string // host of the redirect URI, with port; the scheme, if it is not https
	Loopback   bool   // the redirect URI is on this machine, where any program may have sent the request
	User       User
	Resource   string
	Scopes     []Scope
	More       []Scope // scopes that this user had not granted to this client
	Provider   string  // in Broker: where the user goes next
	// ProviderScopes are the scopes that Broker requests at the provider, sorted: Provider.Scopes or
	// its defaults, and the result of MapScopes. A page of Broker must show them.
	ProviderScopes []string
	Known          bool // this user agreed to this client before
	// Form has the hidden fields that the form must contain. The button's name is "decision", with
	// the values Approve and Deny.
	Form          map[string]string
	Action        string // path that the form is posted to
	Approve, Deny string // values of the button
}

// Pages renders the pages for users. The server sets the headers: no framing, no script, no
// referrer to other sites, no cache, nosniff. A page with styles has them inline, with the nonce.
type Pages interface {
	Consent(w io.Writer, nonce string, c *Consent) error
	Login(w io.Writer, nonce string, l *LoginPage) error
	Error(w io.Writer, nonce string, e *ErrorPage) error
}

// LoginPage is the content of the pages of DevLogin and Passwords. The fields of the form have the
// names "name" and "password".
type LoginPage struct {
	Client  string            // name of the client; may be empty
	Names   []string          // in DevLogin: each is a button with the name "name"
	Failed  bool              // the last attempt had a wrong name or password
	Form    map[string]string // hidden fields that the form must contain
	Action  string            // path that the form is posted to
	Limited time.Duration     // if more than 0, there were too many attempts, and the user must wait that long
}

// ErrorPage is the content of a page for a browser that must not be redirected. The client is
// unknown, the redirect URI is wrong, or the visit has expired or belongs to another browser.
//
// If the request of a client that is not trusted is wrong, Back is the client's address with the
// error, and BackHost its host. The page shows the host, and may have a link to Back. It must not
// redirect by itself.
type ErrorPage struct {
	Title, Text    string // in the language of the browser
	Reference      string // random text that the Event of this refusal also has
	Status         int    // HTTP status
	Back, BackHost string
}

// pageError is an error that is shown as an ErrorPage.
type pageError struct {
	status  int
	message message
	err     error // for the operator

	back, backHost string // as in ErrorPage
}

func (e *pageError) Error() string {
	text := texts["en"][e.message]
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

func (e *pageError) Unwrap() error { return e.err }

func pageFault(status int, m message, err error) error {
	return &pageError{status: status, message: m, err: err}
}

// render answers with a page. The page is rendered first, so that a failure does not leave half a
// page.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, page func(p Pages, out io.Writer, nonce string) error) error {
	pages, nonce := s.pages, rand.Text()
	if pages == nil {
		pages = plain{spoken(r.Header.Get("Accept-Language"))}
	}
	var out bytes.Buffer
	if err := page(pages, &out, nonce); err != nil {
		return err
	}
	head := w.Header()
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+nonce+"'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // a browser that is gone does not matter
	return nil
}

// page returns a handler of pages. It sets their headers, and shows an ErrorPage for an error.
func (s *Server) page(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		var err error
		if wait := s.limited(atPages, r); wait > 0 {
			head.Set("Retry-After", seconds(wait))
			err = pageFault(http.StatusTooManyRequests, msgTooMany, nil)
		} else {
			err = h(w, r)
		}
		if err == nil {
			return
		}
		wrong, ok := errors.AsType[*pageError](err)
		if !ok {
			told := refusalOf(err)
			wrong = &pageError{status: told.status, message: msgFailed, err: err}
		}
		reference := rand.Text()[:10]
		s.emit(r, Event{Kind: VisitRefused, Reason: wrong.Error() + " (" + reference + ")"})
		spoken := spoken(r.Header.Get("Accept-Language"))
		page := &ErrorPage{spoken[msgErrorTitle], spoken[wrong.message], reference, wrong.status, wrong.back, wrong.backHost}
		err = s.render(w, r, wrong.status, func(p Pages, out io.Writer, nonce string) error { return p.Error(out, nonce, page) })
		if err != nil {
			http.Error(w, texts["en"][msgFailed], http.StatusInternalServerError)
		}
	}
}

// plain renders the pages of the package, in one language.
type plain struct{ texts map[message]string }

//go:embed pages.html
var pagesHTML string

var plainPages = template.Must(template.New("").Parse(pagesHTML))

// shown is the data of a template.
type shown struct {
	T            map[message]string
	Title, Nonce string
	Page         any
}

func (p plain) write(w io.Writer, name, title, nonce string, page any) error {
	return plainPages.ExecuteTemplate(w, name, shown{p.texts, title, nonce, page})
}

// Consent writes the consent page.
func (p plain) Consent(w io.Writer, nonce string, c *Consent) error {
	return p.write(w, "consent", p.texts[msgConsentTitle], nonce, c)
}

// Login writes the login page.
func (p plain) Login(w io.Writer, nonce string, l *LoginPage) error {
	return p.write(w, "login", p.texts[msgLoginTitle], nonce, l)
}

// Error writes the error page.
func (p plain) Error(w io.Writer, nonce string, e *ErrorPage) error {
	return p.write(w, "error", e.Title, nonce, e)
}
