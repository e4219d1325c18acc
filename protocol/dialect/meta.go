package dialect

import (
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Peek finds the protocolVersion in params._meta without decoding anything
// else; claimed says that the member is there and is a string. A request that
// claims a version belongs to that revision, whatever was negotiated before
// (2026-07-28 basic/versioning). Params nil: nothing is claimed.
func Peek(params []byte) (version string, claimed bool) {
	return PeekMeta(MetaOf(jsontext.Bare(params)))
}

// MetaOf is the _meta of params, absent where there is none. Null and an empty list are none.
func MetaOf(params jsontext.Object) jsontext.Object {
	meta, _ := params.Inner("_meta")
	if raw := meta.Raw(); jsontext.KindOf(raw) == jsontext.KindNull || jsontext.IsEmptyArray(raw) {
		return jsontext.Object{}
	}
	return meta
}

// PeekMeta is Peek for the _meta itself.
func PeekMeta(meta jsontext.Object) (version string, claimed bool) {
	if meta.Raw() == nil {
		return "", false
	}
	v, ok := meta.Member(keyVersion)
	if !ok {
		return "", false
	}
	return readVersion(v)
}

// readVersion is jsontext.String without allocation for the known revisions.
func readVersion(v []byte) (string, bool) {
	for _, d := range slices.Backward(dialects) {
		if date := d.rev.String(); len(v) == len(date)+2 && string(v[1:len(v)-1]) == date {
			return date, v[0] == '"'
		}
	}
	return jsontext.String(v)
}

// DecodeMeta reads the _meta of a request. What is absent is zero, but on
// 2026-07-28 protocolVersion and clientCapabilities are required (basic
// "_meta"); the fault names the key. The raw parts alias params. The result is
// never nil, and read-only: where there is no _meta, it is NoMeta.
func (d *Dialect) DecodeMeta(params []byte) (*protocol.RequestMeta, *protocol.Fault) {
	return d.DecodeMetaObject(MetaOf(jsontext.Bare(params)))
}

// DecodeMetaObject is DecodeMeta for what MetaOf has found.
func (d *Dialect) DecodeMetaObject(meta jsontext.Object) (*protocol.RequestMeta, *protocol.Fault) {
	if d.handshake {
		return decodeMeta(d, handshakeMeta, meta)
	}
	return decodeMeta(d, perRequestMeta, meta)
}

// DecodeNotificationMeta reads the _meta of a notification, in which nothing is required.
func (d *Dialect) DecodeNotificationMeta(params []byte) (*protocol.RequestMeta, *protocol.Fault) {
	if d.handshake {
		return decodeMeta(d, handshakeMeta, MetaOf(jsontext.Bare(params)))
	}
	return decodeMeta(d, notificationMeta, MetaOf(jsontext.Bare(params)))
}

// metaRoom is what a _meta is read into, at once and in one piece of memory.
type metaRoom interface{ meta() *protocol.RequestMeta }

type smallMeta struct{ protocol.RequestMeta }

// largeMeta has room for what each request of 2026-07-28 says of its client.
type largeMeta struct {
	protocol.RequestMeta
	client       protocol.Implementation
	capabilities protocol.ClientCapabilities
}

func (m *smallMeta) meta() *protocol.RequestMeta { return &m.RequestMeta }
func (m *largeMeta) meta() *protocol.RequestMeta { return &m.RequestMeta }

func decodeMeta[T any, P interface {
	*T
	metaRoom
}](d *Dialect, members fields[T], o jsontext.Object) (*protocol.RequestMeta, *protocol.Fault) {
	if o.Raw() == nil {
		if f := members.missing(0); f != nil {
			return NoMeta, f.in("_meta").fault("params")
		}
		return NoMeta, nil
	}
	t := new(T)
	if f := members.decodeObject(d, t, o); f != nil {
		return NoMeta, f.in("_meta").fault("params")
	}
	return P(t).meta(), nil
}

// NoMeta is the _meta of a request that has none. Read-only.
var NoMeta = new(protocol.RequestMeta)

// handshakeMeta has the members of 2024-11-05 to 2025-11-25.
var handshakeMeta = fields[smallMeta]{
	{"progressToken", optional, func(_ *Dialect, m *smallMeta, v []byte) *fail { return readID(&m.ProgressToken, v) }},
	{keyRelatedTask, optional, readRelatedTask},
}

// readRelatedTask never fails: tasks/get, tasks/result and tasks/cancel must
// ignore the member, and to others it is no more than a reference (2025-11-25
// basic/utilities/tasks "Related Task Metadata").
func readRelatedTask(d *Dialect, m *smallMeta, v []byte) *fail {
	if id, ok := jsontext.Member(v, "taskId"); ok && d.coreTasks {
		m.RelatedTask, _ = jsontext.String(id)
	}
	return nil
}

// perRequestMeta has the members of 2026-07-28 schema, RequestMetaObject.
var perRequestMeta = fields[largeMeta]{
	{"progressToken", optional, func(_ *Dialect, m *largeMeta, v []byte) *fail { return readID(&m.ProgressToken, v) }},
	{keyVersion, required, func(_ *Dialect, m *largeMeta, v []byte) *fail {
		version, ok := readVersion(v)
		if !ok {
			return refuse("must be a string")
		}
		m.Revision = version
		return nil
	}},
	{keyClientInfo, optional, func(d *Dialect, m *largeMeta, v []byte) *fail {
		m.Client = &m.client
		return implementationMembers.decode(d, m.Client, v)
	}},
	{keyCapabilities, required, func(d *Dialect, m *largeMeta, v []byte) *fail {
		m.Capabilities = &m.capabilities
		return readClientCapabilities(d, m.Capabilities, v)
	}},
	{keyLogLevel, optional, func(_ *Dialect, m *largeMeta, v []byte) *fail {
		return readLevel(&m.LogLevel, v)
	}},
}

// notificationMeta has the members of 2026-07-28 schema, NotificationMetaObject.
var notificationMeta = fields[smallMeta]{
	{keySubscription, optional, func(_ *Dialect, m *smallMeta, v []byte) *fail {
		return readID(&m.SubscriptionID, v)
	}},
}

func readLevel(to *protocol.Level, v []byte) *fail {
	return readEnum(to, v, protocol.Levels()...)
}

// metaOf says what to write into the _meta of params.
type metaOf struct {
	*protocol.RequestMeta
	request bool   // a request of a client
	raw     []byte // a _meta to keep, for methods outside the specification
}

// requestMeta writes the _meta of params, if there is anything to say.
func (w *writer) requestMeta(m metaOf) {
	if m.RequestMeta == nil && m.raw == nil && !m.request {
		return // a notification that says nothing there, as most
	}
	start := len(w.b)
	w.key("_meta")
	w.open('{')
	inside := len(w.b)
	if m.RequestMeta == nil {
		m.RequestMeta = &protocol.RequestMeta{}
	}
	var written []string
	if w.d.handshake {
		written = w.handshakeMeta(m.RequestMeta)
	} else {
		written = w.perRequestMeta(m.RequestMeta, m.request)
	}
	w.metaMembers(m.Extra, func(name string) bool { return slices.Contains(written, name) })
	for key, v := range jsontext.Members(m.raw) {
		name := key.String()
		if _, extra := m.Extra[name]; !extra && !slices.Contains(written, name) {
			w.keyOf(name)
			w.raw(v)
		}
	}
	if len(w.b) == inside {
		w.b = w.b[:start]
		return
	}
	w.shut('}')
}

func (w *writer) handshakeMeta(m *protocol.RequestMeta) (written []string) {
	if !m.ProgressToken.IsZero() {
		written = append(written, "progressToken")
		w.key("progressToken")
		w.b = m.ProgressToken.Append(w.b)
	}
	if m.RelatedTask != "" && w.d.coreTasks {
		written = append(written, keyRelatedTask)
		w.relatedTask(m.RelatedTask)
	}
	return written
}

func (w *writer) relatedTask(id string) {
	w.key(keyRelatedTask)
	w.open('{')
	w.str("taskId", id)
	w.shut('}')
}

// perRequestMeta writes what each request must say (2026-07-28 basic "_meta"),
// or the subscription of a notification.
func (w *writer) perRequestMeta(m *protocol.RequestMeta, request bool) (written []string) {
	if !request {
		if m.SubscriptionID.IsZero() {
			return nil
		}
		w.key(keySubscription)
		w.b = m.SubscriptionID.Append(w.b)
		return []string{keySubscription}
	}
	version, capabilities := m.Revision, m.Capabilities
	if version == "" {
		version = w.d.rev.String()
	}
	if capabilities == nil {
		capabilities = &protocol.ClientCapabilities{}
	}
	w.str(keyVersion, version)
	if m.Client != nil {
		w.implementation(keyClientInfo, m.Client)
	}
	w.key(keyCapabilities)
	w.b = w.d.AppendClientCapabilities(w.b, capabilities)
	w.text(keyLogLevel, string(m.LogLevel))
	if !m.ProgressToken.IsZero() {
		w.key("progressToken")
		w.b = m.ProgressToken.Append(w.b)
	}
	return []string{keyVersion, keyClientInfo, keyCapabilities, keyLogLevel, "progressToken"}
}
