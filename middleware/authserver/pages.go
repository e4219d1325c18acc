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

// Consent is what the consent page shows. All strings are text, not HTML.
type Consent struct {
	Client     Client
	ClientHost string // of a document: proven; else empty
	Redirect   string // host of the redirect URI, with port; the scheme, if it is not https
	Loopback   bool   // the redirect URI is on this machine: any program there may be who asks
	User       User
	Resource   string
	Scopes     []Scope
	More       []Scope // those that this user had not granted to this client
	Provider   string  // Broker: where the user goes next
	Known      bool    // this user agreed to this client before
	// Form has the hidden fields that the answer must have. The button's name is "decision", and Approve
	// and Deny are its values.
	Form          map[string]string
	Action        string
	Approve, Deny string
}

// Pages renders what users see. Headers are set by the server: no framing, no script, no referrer to
// other sites, no cache, nosniff; a page that needs styles has them inline with the nonce.
type Pages interface {
	Consent(w io.Writer, nonce string, c *Consent) error
	Login(w io.Writer, nonce string, l *LoginPage) error
	Error(w io.Writer, nonce string, e *ErrorPage) error
}

// LoginPage is what the pages of DevLogin and Passwords show. Its fields have the names "name" and
// "password".
type LoginPage struct {
	Client  string
	Names   []string // DevLogin: each is a button with the name "name"
	Failed  bool
	Form    map[string]string
	Action  string
	Limited time.Duration // too many attempts
}

// ErrorPage is shown where the browser must not be sent back: unknown client, wrong redirect URI,
// expired or foreign visit.
type ErrorPage struct {
	Title, Text, Reference string
	Status                 int
}

// pageError is shown as an ErrorPage.
type pageError struct {
	status  int
	message message
	err     error // for the operator
}

func (e *pageError) Error() string {
	text := texts["en"][e.message]
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

func (e *pageError) Unwrap() error { return e.err }

func pageFault(status int, m message, err error) error { return &pageError{status, m, err} }

// rendering is one page that is made.
type rendering struct {
	bytes.Buffer
	pages Pages
	nonce string
}

// render answers with a page. It is made first, so that a failure is not half a page.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, fn func(out *rendering) error) error {
	out := &rendering{pages: s.pages, nonce: rand.Text()}
	if p, ok := s.pages.(plain); ok {
		p.texts = spoken(r.Header.Get("Accept-Language"))
		out.pages = p
	}
	if err := fn(out); err != nil {
		return err
	}
	head := w.Header()
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+out.nonce+"'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // a browser that is gone does not matter
	return nil
}

// page makes a handler of pages: with their headers, and with an ErrorPage for an error.
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
			wrong = &pageError{told.status, msgFailed, err}
		}
		reference := rand.Text()[:10]
		s.emit(r, Event{Kind: VisitRefused, Reason: wrong.Error() + " (" + reference + ")"})
		spoken := spoken(r.Header.Get("Accept-Language"))
		err = s.render(w, r, wrong.status, func(out *rendering) error {
			return out.pages.Error(out, out.nonce, &ErrorPage{spoken[msgErrorTitle], spoken[wrong.message], reference, wrong.status})
		})
		if err != nil {
			http.Error(w, texts["en"][msgFailed], http.StatusInternalServerError)
		}
	}
}

// plain are the pages of the package, in one language.
type plain struct{ texts map[message]string }

//go:embed pages.html
var pagesHTML string

var plainPages = template.Must(template.New("").Parse(pagesHTML))

// shown is what a template is given.
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
