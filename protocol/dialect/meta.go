package dialect

import (
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Peek returns the protocolVersion in params._meta without decoding anything else. claimed reports
// whether the member exists and is a string. A request that names a version belongs to that
// revision, whatever was negotiated before (2026-07-28 basic/versioning). params may be nil.
func Peek(params []byte) (version string, claimed bool) {
	return PeekMeta(MetaOf(jsontext.Bare(params)))
}

// MetaOf returns the _meta member of params. If params has none, or it is null or an empty list,
// the returned object is absent.
func MetaOf(params jsontext.Object) jsontext.Object {
	meta, _ := params.Inner("_meta")
	if raw := meta.Raw(); jsontext.KindOf(raw) == jsontext.KindNull || jsontext.IsEmptyArray(raw) {
		return jsontext.Object{}
	}
	return meta
}

// PeekMeta is like Peek, for the _meta itself.
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

// readVersion is like jsontext.String, but does not allocate for known revisions.
func readVersion(v []byte) (string, bool) {
	for _, d := range slices.Backward(dialects) {
		if date := d.rev.String(); len(v) == len(date)+2 && string(v[1:len(v)-1]) == date {
			return date, v[0] == '"'
		}
	}
	return jsontext.String(v)
}

// DecodeMeta decodes the _meta of a request. Absent members are zero. On 2026-07-28 protocolVersion
// and clientCapabilities are required (basic "_meta"). The fault names the missing key. Raw parts
// alias params.
//
// The result is never nil, and callers must not modify it. If the request has no _meta, or after a
// fault, it is NoMeta.
func (d *Dialect) DecodeMeta(params []byte) (*protocol.RequestMeta, *protocol.Fault) {
	return d.DecodeMetaObject(MetaOf(jsontext.Bare(params)))
}

// DecodeMetaObject is like DecodeMeta, for the result of MetaOf.
func (d *Dialect) DecodeMetaObject(meta jsontext.Object) (*protocol.RequestMeta, *protocol.Fault) {
	m := NoMeta
	var f *fail
	switch {
	case !d.Handshake():
		large := new(largeMeta)
		m, f = &large.RequestMeta, perRequestMeta.decodeObject(d, large, meta)
	case meta.Raw() != nil:
		m = new(protocol.RequestMeta)
		f = handshakeMeta.decodeObject(d, m, meta)
	}
	if f != nil {
		return NoMeta, f.in("_meta").fault("params")
	}
	return m, nil
}

// largeMeta is a decoded _meta with the memory for the client members of a 2026-07-28 request,
// allocated at once.
type largeMeta struct {
	protocol.RequestMeta
	client       protocol.Implementation
	capabilities protocol.ClientCapabilities
}

// NoMeta is the _meta of a request that has none. Callers must not modify it.
var NoMeta = new(protocol.RequestMeta)

// handshakeMeta are the members of _meta on 2024-11-05 to 2025-11-25.
var handshakeMeta = rows[protocol.RequestMeta](
	decoded("progressToken", func(d *Dialect, m *protocol.RequestMeta, v []byte) *fail { return readID(d, &m.ProgressToken, v) }),
	decoded(keyRelatedTask, readRelatedTask),
)

// readRelatedTask never fails. tasks/get, tasks/result and tasks/cancel must ignore the member, and
// for other requests it is only a reference (2025-11-25 basic/utilities/tasks "Related Task
// Metadata").
func readRelatedTask(d *Dialect, m *protocol.RequestMeta, v []byte) *fail {
	if id, ok := jsontext.Member(v, "taskId"); ok && d.CoreTasks() {
		m.RelatedTask, _ = jsontext.String(id)
	}
	return nil
}

// perRequestMeta are the members of 2026-07-28 schema, RequestMetaObject.
var perRequestMeta = rows[largeMeta](
	decoded("progressToken", func(d *Dialect, m *largeMeta, v []byte) *fail { return readID(d, &m.ProgressToken, v) }),
	decoded(keyVersion, func(_ *Dialect, m *largeMeta, v []byte) *fail {
		version, ok := readVersion(v)
		if !ok {
			return refuse("must be a string")
		}
		m.Revision = version
		return nil
	}).requiredIn(always),
	decoded(keyClientInfo, func(d *Dialect, m *largeMeta, v []byte) *fail {
		m.Client = &m.client
		return implementationMembers.decode(d, m.Client, v)
	}),
	decoded(keyCapabilities, func(d *Dialect, m *largeMeta, v []byte) *fail {
		m.Capabilities = &m.capabilities
		return clientCapabilityMembers.decode(d, m.Capabilities, v)
	}).requiredIn(always),
	decoded(keyLogLevel, func(d *Dialect, m *largeMeta, v []byte) *fail { return level.read(d, &m.LogLevel, v) }),
)

// requestMeta writes the _meta of params, unless it would be empty. m may be nil. The parameter
// request is true for the params of a client's request. raw is a _meta to keep, for methods outside
// the specification.
func (w *writer) requestMeta(m *protocol.RequestMeta, request bool, raw []byte) {
	if m == nil && raw == nil && !request {
		return // most notifications have no _meta
	}
	if m == nil {
		m = NoMeta
	}
	start := len(w.b)
	w.key("_meta")
	w.open('{')
	inside := len(w.b)
	var written []string
	if w.d.Handshake() {
		written = w.handshakeMeta(m)
	} else {
		written = w.perRequestMeta(m, request)
	}
	w.metaMembers(m.Extra, raw, func(name string) bool { return slices.Contains(written, name) })
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
	if m.RelatedTask != "" && w.d.CoreTasks() {
		written = append(written, keyRelatedTask)
		w.key(keyRelatedTask)
		w.open('{')
		w.str("taskId", m.RelatedTask)
		w.shut('}')
	}
	return written
}

// perRequestMeta writes the members that each request must have (2026-07-28 basic "_meta"), or the
// subscription of a notification. It returns their names.
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
		w.key(keyClientInfo)
		write(w, implementationMembers, m.Client)
	}
	w.key(keyCapabilities)
	w.b = w.d.AppendClientCapabilities(w.b, capabilities)
	if m.LogLevel != "" {
		w.str(keyLogLevel, string(m.LogLevel))
	}
	if !m.ProgressToken.IsZero() {
		w.key("progressToken")
		w.b = m.ProgressToken.Append(w.b)
	}
	return []string{keyVersion, keyClientInfo, keyCapabilities, keyLogLevel, "progressToken"}
}
