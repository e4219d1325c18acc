package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/secretname"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
)

// Bounds of the page's own interface.
const (
	maxBody     = 16 << 20 // bytes of a request, which may contain files as arguments
	maxListed   = 500      // frames in one answer
	heartbeat   = 15 * time.Second
	apiPatience = 60 * time.Second // for a request that asks the server
	serverWait  = 5 * time.Second  // how long GET /api/server waits for the connection
)

// routes returns the handler for all addresses of the page. own reports that the page has a
// listener of its own. Requests to the API then need both secrets, from a browser that opened the
// page with a key.
func (p *Page) routes(own bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.index(own))
	mux.HandleFunc("GET /assets/{hash}/{name...}", serveFile)
	api := map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/server":               p.getServer,
		"GET /api/offers":               p.getOffers,
		"GET /api/connectors":           p.getConnectors,
		"POST /api/connect":             p.postConnect,
		"GET /api/calls":                p.getCalls,
		"POST /api/calls":               p.postCall,
		"GET /api/calls/{id}":           p.getCall,
		"DELETE /api/calls/{id}":        p.deleteCall,
		"GET /api/calls/{id}/copy/{as}": p.getCopy,
		"GET /api/calls/{id}/record":    p.getRecord,
		"GET /api/tasks":                p.asking(p.getTasks),
		"DELETE /api/tasks/{id}":        p.asking(p.deleteTask),
		"POST /api/complete":            p.asking(p.postComplete),
		"POST /api/compare":             p.postCompare,
		"GET /api/questions":            p.getQuestions,
		"POST /api/questions/{id}":      p.postAnswer,
		"GET /api/frames":               p.getFrames,
		"GET /api/frames/{n}":           p.getFrame,
		"GET /api/events":               p.getEvents,
		"GET /api/session":              p.getSession,
		"POST /api/level":               p.asking(p.postLevel),
		"POST /api/key":                 p.postKey,
	}
	if !own {
		api["POST /api/key"] = noKey
	}
	for pattern, handle := range api {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			if own && !p.guard.knows(r) || !own && !same(r.Header.Get(secretHeader), p.guard.secret) {
				fail(w, http.StatusForbidden, locked(own))
				return
			}
			if err := handle(w, r); err != nil {
				p.answerFailure(w, err)
			}
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range policy {
			w.Header().Set(name, value)
		}
		if status := outside(r, own); status != 0 {
			fail(w, status, http.StatusText(status))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	})
}

// asking returns a handler that calls ask with the session of the server. Connecting and ask together
// may take callPatience.
func (p *Page) asking(ask func(http.ResponseWriter, *http.Request, *session) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), callPatience)
		defer cancel()
		s, err := p.connected(ctx, false)
		if err != nil {
			return err
		}
		return ask(w, r.WithContext(ctx), s)
	}
}

// apiError is an error that is answered with a status other than 200 and a text.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &apiError{status, fmt.Sprintf(format, args...)}
}

// answerFailure answers with an error. An error that is not an apiError comes from the server and
// is answered with 502.
func (p *Page) answerFailure(w http.ResponseWriter, err error) {
	if own, ok := errors.AsType[*apiError](err); ok {
		fail(w, own.status, own.text)
		return
	}
	fail(w, http.StatusBadGateway, p.explained(err).Message)
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text}) // a browser that is gone does not matter
}

// write answers with value as JSON. Raw JSON within value is not changed.
func write(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a browser that is gone does not matter
	return nil
}

func read(r *http.Request, into any) error {
	err := json.NewDecoder(r.Body).Decode(into)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return refuse(http.StatusRequestEntityTooLarge, "the request is larger than %d MB", maxBody>>20)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "the request is not JSON of the right shape")
	}
	return nil
}

// about describes the server and the connection.
type about struct {
	Name         string          `json:"name,omitempty"`
	Title        string          `json:"title,omitempty"`
	Version      string          `json:"version,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Revision     string          `json:"revision,omitempty"`
	Chosen       string          `json:"chosen,omitempty"` // the revision that the user chose
	Revisions    []string        `json:"revisions"`
	Speaks       map[string]bool `json:"speaks,omitzero"` // by revision, as far as the server has shown it; nil in old files
	Can          []string        `json:"can"`
	Tasks        bool            `json:"tasks"` // a call can become a task
	Watch        bool            `json:"watch"` // a resource can be watched
	Complete     bool            `json:"complete"`
	Carrier      string          `json:"carrier"`
	Where        string          `json:"where"`
	Inside       bool            `json:"inside"`
	ListChain    []surface.Step  `json:"listChain,omitempty"`

	Warnings []surface.Warning `json:"warnings,omitempty"` // from Build

	State  state    `json:"state"`
	Events int      `json:"events"` // number of the newest event
	Frames int      `json:"frames"` // number of the newest frame
	Level  string   `json:"level"`  // of log messages
	Levels []string `json:"levels"`
	Start  []string `json:"start,omitempty"` // the program and its arguments, for a client's configuration
	Hides  []string `json:"hides"`           // parts of names that speak of secrets, see secretname.Words
	OS     string   `json:"os"`              // operating system, for the paths of a client's files on this machine
}

// getServer describes the server. If there is no connection, it makes one and waits for it for
// serverWait. A connection that is made later comes as an event.
func (p *Page) getServer(w http.ResponseWriter, r *http.Request) error {
	p.mu.Lock()
	resting := p.session == nil && (p.state.Name == stateIdle || p.state.Name == stateLost)
	p.mu.Unlock()
	if resting {
		made := make(chan struct{})
		p.spawn(func() {
			defer close(made)
			_, _ = p.connected(r.Context(), false) // its values only; its error is the state
		})
		waiting, cancel := context.WithTimeout(r.Context(), serverWait)
		defer cancel()
		select {
		case <-made:
		case <-waiting.Done():
		case <-p.life.Done():
		}
	}
	return write(w, p.about())
}

func (p *Page) about() *about {
	number := p.events.number() // first: later changes come as events
	if p.saved != nil {
		a := *p.saved.About
		a.Events, a.Hides = number, secretname.Words()
		return &a
	}
	a := &about{Carrier: p.carrier(), Where: p.where(), Inside: p.options.Inside != nil, Can: []string{}, Start: p.options.Start, Events: number, Hides: secretname.Words(), OS: runtime.GOOS}
	for _, level := range protocol.Levels() {
		a.Levels = append(a.Levels, string(level))
	}
	for _, rev := range protocol.Revisions() {
		a.Revisions = append(a.Revisions, rev.String())
	}
	if own := p.options.Inside; own != nil {
		if known := own(); known != nil {
			a.ListChain, a.Warnings = known.Lists, known.Warnings
		}
	}
	p.mu.Lock()
	s := p.session
	a.State, a.Chosen, a.Level, a.Speaks = p.state, p.revision, string(p.level), maps.Clone(p.speaks)
	p.mu.Unlock()
	p.wire.mu.Lock()
	a.Frames = p.wire.last
	p.wire.mu.Unlock()
	if s == nil {
		return a
	}
	server, has := s.client.Server(), s.client.Capabilities()
	a.Name, a.Title, a.Version = server.Name, server.Title, server.Version
	a.Instructions, a.Revision = s.client.Instructions(), s.client.Revision()
	a.Tasks, a.Watch, a.Complete = has.Tasks || has.Extensions["io.modelcontextprotocol/tasks"] != nil, has.ResourcesSubscribe, has.Completions
	a.Can = abilities(has)
	return a
}

// abilities returns the names of a server's capabilities.
func abilities(has protocol.ServerCapabilities) []string {
	can := []string{}
	for _, one := range []struct {
		has  bool
		word string
	}{
		{has.Tools, "tools"},
		{has.Resources, "resources"},
		{has.ResourcesSubscribe, "subscriptions"},
		{has.Prompts, "prompts"},
		{has.Completions, "completions"},
		{has.Logging, "logging"},
		{has.Tasks, "tasks"},
		{has.ToolsListChanged || has.ResourcesChanged || has.PromptsListChanged, "changed lists"},
	} {
		if one.has {
			can = append(can, one.word)
		}
	}
	for name := range has.Extensions {
		can = append(can, name)
	}
	return can
}

func (p *Page) getOffers(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), apiPatience)
	defer cancel()
	all, err := p.offers(ctx)
	if err != nil {
		return err
	}
	return write(w, all)
}

func (p *Page) postConnect(w http.ResponseWriter, r *http.Request) error {
	var o struct {
		Revision *string `json:"revision"`
		Bearer   *string `json:"bearer"`
	}
	if err := read(r, &o); err != nil {
		return err
	}
	if o.Revision != nil && *o.Revision != "" {
		if _, known := protocol.ParseRevision(*o.Revision); !known {
			return refuse(http.StatusBadRequest, "there is no such revision")
		}
	}
	// The connection outlives this request.
	_, _ = p.reconnect(p.life, func() { // its error is the state
		if o.Revision != nil {
			p.revision = *o.Revision
		}
		if o.Bearer != nil {
			p.bearer = cmp.Or(*o.Bearer, p.options.Bearer)
		}
	})
	return write(w, p.about())
}

// postLevel asks the server for log messages of a level and above, on this connection and on later
// ones.
func (p *Page) postLevel(w http.ResponseWriter, r *http.Request, s *session) error {
	var o struct {
		Level protocol.Level `json:"level"`
	}
	if err := read(r, &o); err != nil {
		return err
	}
	if o.Level.Severity() < 0 {
		return refuse(http.StatusBadRequest, "there is no such level")
	}
	if err := s.client.SetLogLevel(r.Context(), o.Level); err != nil {
		return err
	}
	p.mu.Lock()
	p.level = o.Level // also applies to later connections
	p.mu.Unlock()
	return write(w, p.about())
}

func (p *Page) getCalls(w http.ResponseWriter, _ *http.Request) error {
	return write(w, p.calls.list())
}

func (p *Page) postCall(w http.ResponseWriter, r *http.Request) error {
	var o order
	if err := read(r, &o); err != nil {
		return err
	}
	id, err := p.start(o)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return write(w, map[string]string{"call": id})
}

func (p *Page) getCall(w http.ResponseWriter, r *http.Request) error {
	one := p.calls.get(r.PathValue("id"))
	if one == nil {
		return refuse(http.StatusNotFound, "this call is not kept any more")
	}
	return write(w, one)
}

func (p *Page) deleteCall(w http.ResponseWriter, r *http.Request) error {
	if !p.stop(r.PathValue("id")) {
		return refuse(http.StatusConflict, "this call is not running")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (p *Page) postComplete(w http.ResponseWriter, r *http.Request, s *session) error {
	var o struct {
		Prompt   string            `json:"prompt"`
		Template string            `json:"template"`
		Argument string            `json:"argument"`
		Value    string            `json:"value"`
		Context  map[string]string `json:"context"`
	}
	if err := read(r, &o); err != nil {
		return err
	}
	found, err := s.client.Complete(r.Context(), &protocol.CompleteParams{
		Prompt: o.Prompt, Template: o.Template, Argument: o.Argument, Value: o.Value, Context: o.Context,
	})
	if err != nil {
		return err
	}
	values := append([]string{}, found.Values...)
	return write(w, map[string]any{"values": values, "total": found.Total, "hasMore": found.HasMore})
}

func (p *Page) getQuestions(w http.ResponseWriter, _ *http.Request) error {
	return write(w, p.asked.all())
}

func (p *Page) postAnswer(w http.ResponseWriter, r *http.Request) error {
	var said reply
	if err := read(r, &said); err != nil {
		return err
	}
	switch said.Action {
	case "accept", "decline", "cancel":
	default:
		return refuse(http.StatusBadRequest, "an answer is accept, decline or cancel")
	}
	one := p.asked.take(r.PathValue("id"))
	if one == nil {
		return refuse(http.StatusConflict, "this question was answered, or withdrawn")
	}
	one.answer <- said
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (p *Page) getFrames(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	after, _ := strconv.Atoi(q.Get("after"))
	before, _ := strconv.Atoi(q.Get("before"))
	return write(w, p.wire.between(after, before, q.Get("q")))
}

func (p *Page) getFrame(w http.ResponseWriter, r *http.Request) error {
	n, _ := strconv.Atoi(r.PathValue("n"))
	f, text := p.wire.at(n)
	if f == nil {
		return refuse(http.StatusNotFound, "this frame is not kept any more")
	}
	return write(w, map[string]any{"frame": f, "text": string(text)})
}

// getEvents answers with the stream of events, one JSON object per line. The stream ends when the
// page is closed. A query with once gets only the events until now.
func (p *Page) getEvents(w http.ResponseWriter, r *http.Request) error {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	once := r.URL.Query().Has("once")
	defer p.looks()()
	w.Header().Set("Content-Type", "application/x-ndjson")
	control := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		found, last, missed, more, ok := p.events.since(after)
		if missed > 0 {
			_, _ = fmt.Fprintf(w, `{"seq":%d,"kind":"missed","missed":%d}`+"\n", last, missed)
		}
		for _, event := range found {
			if _, err := w.Write(append(slices.Clip(event), '\n')); err != nil {
				return nil // the browser has left
			}
		}
		after = last
		if control.Flush() != nil || !ok || once {
			return nil
		}
		select {
		case <-more:
		case <-beat.C:
			_, _ = w.Write([]byte("\n"))
		case <-r.Context().Done():
			return nil
		}
	}
}

// noKey is postKey of a page behind the program's own login, which has no keys.
func noKey(http.ResponseWriter, *http.Request) error {
	return refuse(http.StatusNotFound, "this page needs no key: open its address in the other browser, and log in there")
}

// postKey answers with an address that has a new key, for another browser.
func (p *Page) postKey(w http.ResponseWriter, r *http.Request) error {
	return write(w, map[string]string{"address": p.address(r.Host)})
}
