package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Bounds of a saved session.
const (
	savedFormat  = 1
	maxSaved     = 256 << 20
	shortestMask = 8 // minimum length of a secret that is also looked for outside of its member
	longestMask  = 4096
	deepestText  = 3 // levels of JSON within strings
)

// stateSaved is the state of a page that shows a saved session.
const stateSaved = "saved"

// saved is a session as a file: the server's components, the calls and the frames. Secrets are
// masked.
type saved struct {
	Format int         `json:"kagamiPage"`
	At     time.Time   `json:"at"`
	About  *about      `json:"about"`
	Offers *offers     `json:"offers"`
	Calls  []*call     `json:"calls"`  // newest first
	Frames []wholeSeen `json:"frames"` // oldest first
}

// wholeSeen is a frame with its text.
type wholeSeen struct {
	frame
	Text string `json:"text"`
}

// Open returns a page that shows a session saved by a page. The page does not connect to a server,
// and cannot make calls. The file may come from an untrusted source.
func Open(file io.Reader) (*Page, error) {
	if file == nil {
		return nil, errors.New("page: there is no file")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSaved+1))
	if err != nil {
		return nil, fmt.Errorf("page: reading the session: %w", err)
	}
	if len(text) > maxSaved {
		return nil, fmt.Errorf("page: the session is larger than %d MB", maxSaved>>20)
	}
	var head struct { // decoded first, because other versions may have other members
		Format int `json:"kagamiPage"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Format == 0 {
		return nil, errors.New("page: the file is not a session that a page has saved")
	}
	var s saved
	if err := json.Unmarshal(text, &s); err != nil || s.Format != savedFormat || s.About == nil || s.Offers == nil {
		return nil, errors.New("page: another version of Kagami has saved this session")
	}
	s.complete()
	s.About.Start = nil // the file must not choose a program that a client would start
	o := Options{Where: s.About.Where}
	if u, err := url.Parse(s.About.Where); err == nil && s.About.Carrier == "HTTP" && (u.Scheme == "http" || u.Scheme == "https") {
		o = Options{URL: s.About.Where}
	}
	p := newPage(o) // for the copies of calls; it never connects
	s.About.State = state{Name: stateSaved, Reason: s.At.Local().Format(time.DateTime)}
	p.saved, p.state, p.offered = &s, s.About.State, s.Offers
	for _, one := range s.Calls {
		if one != nil {
			p.calls.restore(one)
		}
	}
	for _, f := range s.Frames {
		f.text = []byte(f.Text)
		if f.Kind == "http" && f.HTTP == nil {
			f.Kind = "other" // the browser expects the exchange
		}
		p.wire.frames, p.wire.last = append(p.wire.frames, &f.frame), max(p.wire.last, f.N)
	}
	return p, nil
}

// complete sets lists that the file leaves out to empty lists, because the browser expects them.
func (s *saved) complete() {
	for _, list := range []*[]string{&s.About.Revisions, &s.About.Can, &s.About.Levels, &s.Offers.Secrets} {
		*list = append([]string{}, *list...)
	}
	for _, list := range []*[]offer{&s.Offers.Tools, &s.Offers.Resources, &s.Offers.Templates, &s.Offers.Prompts} {
		*list = append([]offer{}, *list...)
	}
}

// errSaved is the error for a call in a saved session.
var errSaved = &apiError{http.StatusConflict, "this is a saved session: there is no server to ask"}

// getSession answers with the whole session as a file.
func (p *Page) getSession(w http.ResponseWriter, r *http.Request) error {
	p.mu.Lock()
	all := p.offered // also if the server has ended
	p.mu.Unlock()
	if all == nil {
		var err error
		if all, err = p.offers(r.Context()); err != nil {
			return err
		}
	}
	s := saved{Format: savedFormat, At: time.Now(), About: p.about(), Offers: all, Calls: p.calls.whole(), Frames: p.wire.whole()}
	s.About.Start = nil                                                 // its arguments may be secrets
	if p.options.URL == "" && p.options.Where != "" && p.saved == nil { // arguments may be secrets
		s.About.Where, _, _ = strings.Cut(s.About.Where, " ")
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return refuse(http.StatusInternalServerError, "the session cannot be written: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="session.kagami.json"`)
	_, _ = w.Write(p.hidden(bytes.TrimSpace(text.Bytes()))) // a browser that is gone does not matter
	return nil
}

// hidden masks secrets in a JSON document. Secrets are strings under names such as "password", also
// in JSON within strings, the keys in the server's URL, and the secret arguments and answers of all
// calls. The same strings are also masked everywhere else.
func (p *Page) hidden(document []byte) []byte {
	p.mu.Lock()
	h := hider{names: p.secretNames()}
	p.mu.Unlock()
	for _, key := range p.keys {
		h.note(key)
	}
	text := h.value(nil, document, 0, false)
	p.mu.Lock()
	found := append(h.found, p.given...)
	p.mu.Unlock()
	slices.SortFunc(found, func(a, b []byte) int { // longest first, because a secret may begin with another one
		return cmp.Or(len(b)-len(a), bytes.Compare(a, b))
	})
	var pairs []string
	for _, secret := range slices.CompactFunc(found, bytes.Equal) {
		pairs = append(pairs, string(secret), "•••")
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}

// maxGiven is the maximum number of secret arguments and answers that are kept.
const maxGiven = 1000

// give keeps the secrets among the arguments of a call, or in an answer, so that a saved session contains
// them nowhere.
func (p *Page) give(arguments json.RawMessage) {
	if jsontext.Check(arguments, jsontext.DefaultLimits()) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := hider{names: p.secretNames()}
	h.value(nil, arguments, 0, false)
	p.given = append(p.given, h.found...)
	p.given = p.given[max(0, len(p.given)-maxGiven):]
}

// hider rewrites JSON with masked secrets.
type hider struct {
	names []string // names of secrets, in addition to those that every page hides
	found [][]byte // secrets, as they stand between quotes
}

// value appends a value with its secrets masked. If hide is true, its strings are secrets because
// of the name of the member that contains it. depth counts levels of JSON within strings.
func (h *hider) value(dst, value []byte, depth int, hide bool) []byte {
	switch jsontext.KindOf(value) {
	case jsontext.KindObject:
		dst = append(dst, '{')
		for key, member := range jsontext.Members(value) {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			name := key.String()
			dst = append(jsontext.Quote(dst, name), ':')
			dst = h.value(dst, member, depth, hides(name) || slices.Contains(h.names, name))
		}
		return append(dst, '}')
	case jsontext.KindArray:
		dst = append(dst, '[')
		for element := range jsontext.Elements(value) {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = h.value(dst, element, depth, hide)
		}
		return append(dst, ']')
	case jsontext.KindString:
		return h.text(dst, value, depth, hide)
	}
	return append(dst, value...)
}

// text masks a string, or the secrets in the JSON that it contains. Frames are strings, and contain
// results with JSON as text.
func (h *hider) text(dst, value []byte, depth int, hide bool) []byte {
	text, _ := jsontext.String(value)
	if hide {
		h.note(text)
		return append(dst, `"•••"`...)
	}
	inner := strings.TrimSpace(text)
	isJSON := strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")
	if depth >= deepestText || !isJSON || jsontext.Check([]byte(text), jsontext.DefaultLimits()) != nil {
		return append(dst, value...)
	}
	return jsontext.Quote(dst, string(h.value(nil, []byte(text), depth+1, false)))
}

// note adds a secret as it stands between quotes, at each level of JSON within strings.
func (h *hider) note(secret string) {
	if len(secret) < shortestMask || len(secret) > longestMask {
		return
	}
	for range deepestText + 1 {
		quoted := jsontext.Quote(nil, secret)
		secret = string(quoted[1 : len(quoted)-1])
		h.found = append(h.found, []byte(secret))
	}
}

// whole returns copies of all calls, newest first.
func (c *calls) whole() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []*call{}
	for _, kept := range slices.Backward(c.sorted()) {
		one := kept.copy()
		all = append(all, &one)
	}
	return all
}

// restore adds a call of a saved session.
func (c *calls) restore(one *call) {
	if one.Phase == phaseSent { // it was running when the session was saved
		one.Phase = phaseLost
		one.Error = &callError{Message: "the session was saved while the call was running"}
	}
	c.byID[one.ID] = one
	c.last = max(c.last, one.N)
}

// whole returns copies of all frames, oldest first.
func (w *wire) whole() []wholeSeen {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]wholeSeen, 0, len(w.frames))
	for _, kept := range w.frames {
		f := *kept
		all = append(all, wholeSeen{f, string(f.text)})
	}
	return all
}
