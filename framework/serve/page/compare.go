package page

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxLines is the maximum number of lines of a frame that are compared.
const maxLines = 5000

// comparison is the result of one call at two revisions, each on a new connection.
type comparison struct {
	Equal       bool         `json:"equal"` // the answers have the same content, in the form of each revision
	A           side         `json:"a"`
	B           side         `json:"b"`
	Sent        []row        `json:"sent"`
	Received    []row        `json:"received"`
	Differences []difference `json:"differences"` // numbered from 1
}

// side is the call at one revision.
type side struct {
	Revision string  `json:"revision"`
	Opening  int     `json:"opening"` // frames before the call
	Sent     int     `json:"sent"`    // bytes
	Received int     `json:"received"`
	Ms       float64 `json:"ms"`
	Failed   string  `json:"failed,omitempty"`

	out, in []byte
}

// row is a line of both frames. Mark is "=", "-" (only in A), "+" (only in B) or "~".
type row struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Mark string `json:"mark"`
	N    int    `json:"n,omitempty"` // number of the difference

	path string
}

// difference is a reason for lines that differ.
type difference struct {
	Title string `json:"title"`
	Why   string `json:"why"`
}

// reasons explain differences by their place, which is a JSON Pointer into the frame. The first
// matching prefix counts.
var reasons = []struct {
	prefix string
	difference
}{
	{"/params/_meta", difference{"Each request describes the client", "2026-07-28 has no handshake: the revision, the client and its capabilities come with every request."}},
	{"/params/arguments", difference{"The arguments are absent or empty", "A revision may want the member even if it is empty."}},
	{"/result/resultType", difference{"A result says what it is", "At 2026-07-28 an answer may be questions instead of a result."}},
	{"/result/_meta", difference{"The server names itself in each result", "2026-07-28 has no handshake that would have named it before."}},
	{"/result/structuredContent", difference{"Structured results", "They came with 2025-06-18. Before, the same data is in the text block alone."}},
	{"/result/ttlMs", difference{"How long an answer may be kept", "2026-07-28 says it with the answer."}},
	{"/result/cacheScope", difference{"Who may keep an answer", "2026-07-28 says it with the answer."}},
	{"/result/content", difference{"Blocks of content", "What a revision has no block for, such as a link before 2025-06-18, is written as text."}},
	{"/result/messages", difference{"Blocks of messages", "What a revision has no block for is written as text."}},
}

// otherKind is the difference between a result and an error.
var otherKind = difference{"A result here, an error there", "Revisions differ in what is an error of the protocol, and what is a result that a model reads."}

// unexplained is the difference if no reason matches.
var unexplained = difference{"Another difference", "The page has no words for it."}

func (p *Page) postCompare(w http.ResponseWriter, r *http.Request) error {
	var o struct {
		order
		A string `json:"a"`
		B string `json:"b"`
	}
	if p.saved != nil {
		return errSaved
	}
	if err := read(r, &o); err != nil {
		return err
	}
	params, err := o.params()
	if err != nil || o.Method == protocol.MethodSubscribe {
		return refuse(http.StatusBadRequest, "this call cannot be compared")
	}
	var sides [2]side
	for i, name := range []string{o.A, o.B} {
		rev, known := protocol.ParseRevision(name)
		if !known {
			return refuse(http.StatusBadRequest, "there is no such revision")
		}
		sides[i] = p.once(r.Context(), rev, o.order, params)
	}
	return write(w, compared(sides[0], sides[1]))
}

// once makes one call on a new connection.
func (p *Page) once(ctx context.Context, rev protocol.Revision, o order, params json.RawMessage) side {
	s := side{Revision: rev.String()}
	session := &session{number: int(p.opened.Add(1)), chosen: rev.String()} // the list of frames also shows this connection
	to, err := p.target(session)                                            // may build the program
	if err != nil {
		s.Failed = p.explained(err).Message
		return s
	}
	ctx, cancel := context.WithTimeout(p.calling(ctx), apiPatience)
	defer cancel()
	c, err := client.Connect(ctx, to, append(p.handlers(), client.Name("kagami-page", p.options.Client), client.Revisions(rev),
		client.OnFrame(func(ctx context.Context, f client.Frame) {
			session.received(f)
			p.wire.add(ctx, session.number, f, p.mask)
		}))...)
	session.client = c
	p.learn(session, err)
	if err != nil {
		s.Failed = p.explained(err).Message
		return s
	}
	defer func() { _ = c.Close() }() // the process may end in any way
	_, _, s.Opening = p.wire.exchange(session.number, o.Method)
	began := time.Now()
	if _, err = c.Request(ctx, o.Method, params, client.InRounds()); err != nil {
		s.Failed = p.explained(err).Message
	}
	s.Ms = milliseconds(time.Since(began))
	s.out, s.in, _ = p.wire.exchange(session.number, o.Method)
	s.Sent, s.Received = len(s.out), len(s.in)
	return s
}

// compared returns the differences between two calls.
func compared(a, b side) *comparison {
	c := &comparison{A: a, B: b, Equal: sameAnswer(a.in, b.in), Differences: []difference{}}
	_, failsA := jsontext.Member(orObject(a.in), "error")
	_, failsB := jsontext.Member(orObject(b.in), "error")
	numbers := map[string]int{}
	for _, pair := range []struct {
		a, b []byte
		into *[]row
	}{{a.out, b.out, &c.Sent}, {a.in, b.in, &c.Received}} {
		rows := aligned(linesOf(pair.a), linesOf(pair.b))
		for i := range rows {
			if rows[i].Mark == "=" {
				continue
			}
			why := reasonFor(rows[i].path)
			if failsA != failsB && !strings.HasPrefix(rows[i].path, "/params") {
				why = otherKind
			}
			if numbers[why.Title] == 0 {
				c.Differences = append(c.Differences, why)
				numbers[why.Title] = len(c.Differences)
			}
			rows[i].N = numbers[why.Title]
		}
		*pair.into = rows
	}
	return c
}

// orObject returns the frame, or an empty object if the frame is not valid JSON.
func orObject(frame []byte) []byte {
	if jsontext.Check(frame, jsontext.DefaultLimits()) != nil {
		return []byte("{}")
	}
	return frame
}

func reasonFor(path string) difference {
	for _, r := range reasons {
		if path == r.prefix || strings.HasPrefix(path, r.prefix+"/") {
			return r.difference
		}
	}
	return unexplained
}

// sameAnswer reports whether two answers have the same content. It compares the structured results
// if both have them, and otherwise the texts that a model reads.
func sameAnswer(a, b []byte) bool {
	type answer struct {
		Result struct {
			Structured any  `json:"structuredContent"`
			IsError    bool `json:"isError"`
			Content    []struct {
				Text string `json:"text"`
			} `json:"content"`
			Contents any `json:"contents"`
			Messages any `json:"messages"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	var x, y answer
	decode := func(frame []byte, into *answer) error {
		d := json.NewDecoder(bytes.NewReader(frame))
		d.UseNumber() // all digits count
		return d.Decode(into)
	}
	if decode(a, &x) != nil || decode(b, &y) != nil {
		return false
	}
	text := func(of answer) string {
		if of.Error != nil {
			return of.Error.Message
		}
		var all strings.Builder
		for _, block := range of.Result.Content {
			all.WriteString(block.Text)
		}
		return all.String()
	}
	fails := func(of answer) bool { return of.Error != nil || of.Result.IsError }
	same := func(p, q any) bool {
		left, _ := json.Marshal(p)
		right, _ := json.Marshal(q)
		return bytes.Equal(left, right)
	}
	if fails(x) != fails(y) || !same(x.Result.Contents, y.Result.Contents) || !same(x.Result.Messages, y.Result.Messages) {
		return false
	}
	if x.Result.Structured != nil && y.Result.Structured != nil {
		return same(x.Result.Structured, y.Result.Structured)
	}
	return text(x) == text(y)
}

// line is a line of a frame, with its place.
type line struct{ path, text string }

// linesOf splits a frame into lines, one for each value.
func linesOf(frame []byte) []line {
	if jsontext.Check(frame, jsontext.DefaultLimits()) != nil {
		return nil
	}
	var l lines
	l.value("", "", frame, 0)
	return l.all
}

type lines struct{ all []line }

func (l *lines) add(path string, depth int, text string) {
	if len(l.all) < maxLines {
		l.all = append(l.all, line{path, strings.Repeat("  ", depth) + text})
	}
}

// value appends the lines of a value after its label. The last line of a container has a place of
// its own.
func (l *lines) value(path, label string, value []byte, depth int) {
	kind := jsontext.KindOf(value)
	if jsontext.Len(value) == 0 && (kind == jsontext.KindObject || kind == jsontext.KindArray) {
		l.add(path, depth, label+map[bool]string{true: "{}", false: "[]"}[kind == jsontext.KindObject])
		return
	}
	switch kind {
	case jsontext.KindObject:
		l.add(path, depth, label+"{")
		for key, member := range jsontext.Members(value) {
			l.value(jsontext.Pointer(path, key.String()), string(key.Raw())+": ", member, depth+1)
		}
		l.add(path+"/}", depth, "}")
	case jsontext.KindArray:
		l.add(path, depth, label+"[")
		i := 0
		for element := range jsontext.Elements(value) {
			l.value(jsontext.PointerIndex(path, i), "", element, depth+1)
			i++
		}
		l.add(path+"/]", depth, "]")
	default:
		l.add(path, depth, label+string(value))
	}
}

// aligned puts lines with the same place next to each other, in the order of a.
func aligned(a, b []line) []row {
	inA, inB := places(a), places(b)
	rows := []row{}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].path == b[j].path:
			mark := "="
			// The IDs of requests differ, because each connection counts its own.
			if a[i].text != b[j].text && a[i].path != "/id" {
				mark = "~"
			}
			rows = append(rows, row{a[i].text, b[j].text, mark, 0, a[i].path})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || !inB[a[i].path]):
			rows = append(rows, row{A: a[i].text, Mark: "-", path: a[i].path})
			i++
		case j < len(b) && (i == len(a) || !inA[b[j].path]):
			rows = append(rows, row{B: b[j].text, Mark: "+", path: b[j].path})
			j++
		default: // members in another order
			at := slices.IndexFunc(b[j:], func(l line) bool { return l.path == a[i].path })
			if at < 0 { // the matching line was earlier
				rows = append(rows, row{A: a[i].text, Mark: "=", path: a[i].path})
				i++
				continue
			}
			moved := b[j+at]
			b = slices.Insert(slices.Delete(slices.Clone(b), j+at, j+at+1), j, moved)
		}
	}
	return rows
}

func places(all []line) map[string]bool {
	found := make(map[string]bool, len(all))
	for _, one := range all {
		found[one.path] = true
	}
	return found
}
