package testkit

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// maxPages is the maximum number of pages of one visit.
const maxPages = 20

// Browse returns a function for oauth.Browser that acts as a user with a browser. It opens a page,
// follows redirects, sends forms, and returns when a page has no form. Cookies are kept from one
// visit to the next.
//
// It presses the first button of a form with a value in press. If there is none, it presses the
// last button, which agrees.
func Browse(t testing.TB, press ...string) func(ctx context.Context, address string) error {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatalf("testkit: %v", err)
		return nil
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context, address string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		for range maxPages {
			if err != nil {
				return err
			}
			page, failed := loadPage(c, r)
			if failed != nil || page.action == "" {
				return failed
			}
			r, err = page.submit(ctx, press)
		}
		return fmt.Errorf("testkit: more than %d pages", maxPages)
	}
}

// webPage is a loaded page with its first form.
type webPage struct {
	url     *url.URL
	action  string // of the form; empty if there is none
	post    bool   // the form is sent by POST, otherwise by GET
	fields  url.Values
	buttons []webField
}

type webField struct{ name, value string }

func loadPage(c *http.Client, r *http.Request) (*webPage, error) {
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	page := &webPage{url: resp.Request.URL, fields: url.Values{}}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		_, err = io.Copy(io.Discard, resp.Body)
		return page, err
	}
	return page, page.read(resp.Body)
}

// read finds the form in a page. It understands HTML only as far as package xml does.
func (p *webPage) read(body io.Reader) error {
	d := xml.NewDecoder(body)
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for inside := false; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("testkit: the page %s cannot be read: %w", p.url.Redacted(), err)
		}
		switch e := token.(type) {
		case xml.EndElement:
			inside = inside && e.Name.Local != "form"
		case xml.StartElement:
			field := webField{attribute(e, "name"), attribute(e, "value")}
			switch {
			case e.Name.Local == "form" && p.action == "":
				inside, p.action, p.post = true, attribute(e, "action"), strings.EqualFold(attribute(e, "method"), http.MethodPost)
			case inside && e.Name.Local == "input":
				p.fields.Add(field.name, field.value)
			case inside && e.Name.Local == "button":
				p.buttons = append(p.buttons, field)
			}
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// submit sends the fields of the form, and the button that is pressed.
func (p *webPage) submit(ctx context.Context, press []string) (*http.Request, error) {
	if n := len(p.buttons); n > 0 {
		i := slices.IndexFunc(p.buttons, func(b webField) bool { return slices.Contains(press, b.value) })
		if i < 0 {
			i = n - 1
		}
		if pressed := p.buttons[i]; pressed.name != "" {
			p.fields.Add(pressed.name, pressed.value)
		}
	}
	action, err := p.url.Parse(p.action)
	if err != nil {
		return nil, err
	}
	if !p.post {
		action.RawQuery = p.fields.Encode() // in place of the action's own query, as browsers do
		return http.NewRequestWithContext(ctx, http.MethodGet, action.String(), nil)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, action.String(), strings.NewReader(p.fields.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", p.url.Scheme+"://"+p.url.Host)
	return r, nil
}
