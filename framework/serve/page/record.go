package page

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/secretname"
	"github.com/kagami-mcp/kagami/framework/serve/record"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// getRecord answers with the frames of a call, in the format that testkit.Replay reads. The record
// has the frames that opened the connection, and all frames of the call from its first to its last.
func (p *Page) getRecord(w http.ResponseWriter, r *http.Request) error {
	one := p.calls.get(r.PathValue("id"))
	if one == nil {
		return refuse(http.StatusNotFound, "this call is not kept any more")
	}
	frames := p.wire.ofCall(one.ID)
	if frames == nil {
		return refuse(http.StatusGone, "the beginning of the connection is not kept any more: connect again, and repeat the call")
	}
	var text bytes.Buffer
	if err := record.Write(&text, record.Head{Revision: one.Revision}, nil, frames); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="record.jsonl"`)
	_, _ = w.Write(text.Bytes()) // a browser that is gone does not matter
	return nil
}

// ofCall returns the frames that opened a call's connection, followed by the call's own frames. If
// one of them is not kept, it returns nil.
func (w *wire) ofCall(id string) []record.Frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, last, session := 0, 0, 0
	for _, f := range w.frames {
		if f.Call == id && f.Kind != "http" {
			if first == 0 {
				first, session = f.N, f.Session
			}
			last = f.N
		}
	}
	var found []record.Frame
	opened := false
	for _, f := range w.frames {
		opens := f.Session == session && isOpening(f)
		within := f.Session == session && f.N >= first && f.N <= last && f.Kind != "http" && (f.Call == id || f.Call == "" && belongs(f))
		if opens || within {
			found = append(found, record.Frame{Sent: f.Sent, Text: f.text})
		}
		opened = opened || opens
	}
	if first == 0 || !opened {
		return nil
	}
	return found
}

// isOpening reports whether a frame belongs to the handshake or discovery. A refusal of such a
// request also belongs to it.
func isOpening(f *frame) bool {
	return f.Method == protocol.MethodDiscover || f.Method == protocol.MethodInitialize || f.Method == protocol.NotificationInitialized
}

// belongs reports whether a frame that names no call belongs to the running calls. Such a frame is
// a request of the server, the answer to it, or a notification. Notifications about changed lists
// and resources do not belong to calls.
func belongs(f *frame) bool {
	switch f.Kind {
	case "request":
		return !f.Sent
	case "result", "error":
		return f.Sent
	case "notification":
		return !strings.HasSuffix(f.Method, "/list_changed") && f.Method != protocol.NotificationAcknowledged && f.Method != protocol.NotificationResourceUpdated
	}
	return false
}

// hides reports whether arguments with this name are masked, regardless of their schema.
func hides(name string) bool {
	return secretname.Is(name) && !strings.EqualFold(name, "progressToken")
}

// hiddenNames adds the names of secret properties to found: properties that the schema marks as
// secret, and properties with a name that suggests a secret.
func hiddenNames(properties []byte, found map[string]struct{}) {
	for key, property := range jsontext.Members(properties) {
		if isSecret(property) || hides(key.String()) {
			found[key.String()] = struct{}{}
		}
	}
}
