package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

func TestAllAndOf(t *testing.T) {
	t.Parallel()
	var got []protocol.Revision
	for _, d := range dialect.All() {
		got = append(got, d.Revision())
		if dialect.Of(d.Revision()) != d {
			t.Errorf("Of(%s) is another dialect", d)
		}
		if d.String() != d.Revision().String() {
			t.Errorf("dialect of %s calls itself %s", d.Revision(), d)
		}
	}
	if !slices.Equal(got, protocol.Revisions()) {
		t.Errorf("All() = %v, want one for each of %v", got, protocol.Revisions())
	}
	if d := dialect.Of(protocol.Revision{}); d != nil {
		t.Errorf("Of(zero) = %s, want nil", d)
	}
}

func TestHandshakeNegotiates(t *testing.T) {
	t.Parallel()
	for requested, want := range map[string]string{
		"2024-11-05": "2024-11-05",
		"2025-03-26": "2025-03-26",
		"2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25",
		"1.0":        "2025-11-25",
		"":           "2025-11-25",
	} {
		if got := dialect.Handshake(requested).String(); got != want {
			t.Errorf("Handshake(%q) = %s, want %s", requested, got, want)
		}
	}
}

func TestPerRequestKnowsOnlyWhatHasNoHandshake(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		got, ok := dialect.PerRequest(d.String())
		if ok != (d.Revision() == revE) || ok && got != d {
			t.Errorf("PerRequest(%s) = %v, %v", d, got, ok)
		}
	}
	if _, ok := dialect.PerRequest("v999"); ok {
		t.Error("PerRequest(v999) found something")
	}
	if got := dialect.PerRequestVersions(); !slices.Equal(got, []string{"2026-07-28"}) {
		t.Errorf("PerRequestVersions() = %v", got)
	}
}

// The table is that of the specification's pages, oldest revision first.
func TestTraits(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		trait func(*dialect.Dialect) bool
		want  string
	}{
		"Handshake":                {(*dialect.Dialect).Handshake, "11110"},
		"ServerRequests":           {(*dialect.Dialect).ServerRequests, "11110"},
		"Batches":                  {(*dialect.Dialect).Batches, "01000"},
		"ResultType":               {(*dialect.Dialect).ResultType, "00001"},
		"ArgumentErrorsAreResults": {(*dialect.Dialect).ArgumentErrorsAreResults, "00011"},
		"NullErrorID":              {(*dialect.Dialect).NullErrorID, "11100"},
		"ListenStream":             {(*dialect.Dialect).ListenStream, "00001"},
		"LogLevelPerRequest":       {(*dialect.Dialect).LogLevelPerRequest, "00001"},
		"StructuredContent":        {(*dialect.Dialect).StructuredContent, "00111"},
		"Elicits":                  {(*dialect.Dialect).Elicits, "00111"},
		"ElicitsURL":               {(*dialect.Dialect).ElicitsURL, "00011"},
		"ElicitationIDs":           {(*dialect.Dialect).ElicitationIDs, "00010"},
		"SamplesWithTools":         {(*dialect.Dialect).SamplesWithTools, "00011"},
		"InputRounds":              {(*dialect.Dialect).InputRounds, "00001"},
		"CoreTasks":                {(*dialect.Dialect).CoreTasks, "00010"},
		"TaskExtension":            {(*dialect.Dialect).TaskExtension, "00001"},
		"VersionHeader":            {(*dialect.Dialect).VersionHeader, "00111"},
		"MirrorHeaders":            {(*dialect.Dialect).MirrorHeaders, "00001"},
		"Resumable":                {(*dialect.Dialect).Resumable, "01110"},
		"PollStreams":              {(*dialect.Dialect).PollStreams, "00010"},
		"StatusByCode":             {(*dialect.Dialect).StatusByCode, "00001"},
		"CancelByClose":            {(*dialect.Dialect).CancelByClose, "00001"},
	} {
		if got := perRevision(row.trait); got != row.want {
			t.Errorf("%s = %s, want %s", name, got, row.want)
		}
	}
}

// perRevision is one digit per revision, oldest first.
func perRevision(is func(*dialect.Dialect) bool) string {
	var b strings.Builder
	for _, d := range dialect.All() {
		if is(d) {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

func TestMethodsOfRevisions(t *testing.T) {
	t.Parallel()
	const none = "00000"
	want := map[string][4]string{ // client asks, server asks, client tells, server tells
		protocol.MethodInitialize:    {"11110", none, none, none},
		protocol.MethodDiscover:      {"00001", none, none, none},
		protocol.MethodPing:          {"11110", "11110", none, none},
		protocol.MethodListTools:     {"11111", none, none, none},
		protocol.MethodCallTool:      {"11111", none, none, none},
		protocol.MethodListResources: {"11111", none, none, none},
		protocol.MethodListTemplates: {"11111", none, none, none},
		protocol.MethodReadResource:  {"11111", none, none, none},
		protocol.MethodSubscribe:     {"11110", none, none, none},
		protocol.MethodUnsubscribe:   {"11110", none, none, none},
		protocol.MethodListen:        {"00001", none, none, none},
		protocol.MethodListPrompts:   {"11111", none, none, none},
		protocol.MethodGetPrompt:     {"11111", none, none, none},
		protocol.MethodComplete:      {"11111", none, none, none},
		protocol.MethodSetLevel:      {"11110", none, none, none},
		protocol.MethodGetTask:       {"00011", "00010", none, none},
		protocol.MethodTaskResult:    {"00010", "00010", none, none},
		protocol.MethodListTasks:     {"00010", "00010", none, none},
		protocol.MethodCancelTask:    {"00011", "00010", none, none},
		protocol.MethodUpdateTask:    {"00001", none, none, none},
		protocol.MethodCreateMessage: {none, "11111", none, none},
		protocol.MethodListRoots:     {none, "11111", none, none},
		protocol.MethodElicit:        {none, "00111", none, none},

		protocol.NotificationInitialized:         {none, none, "11110", none},
		protocol.NotificationCancelled:           {none, none, "11111", "11111"},
		protocol.NotificationProgress:            {none, none, "11110", "11111"},
		protocol.NotificationMessage:             {none, none, none, "11111"},
		protocol.NotificationToolsChanged:        {none, none, none, "11111"},
		protocol.NotificationResourcesChanged:    {none, none, none, "11111"},
		protocol.NotificationPromptsChanged:      {none, none, none, "11111"},
		protocol.NotificationResourceUpdated:     {none, none, none, "11111"},
		protocol.NotificationRootsChanged:        {none, none, "11110", none},
		protocol.NotificationElicitationComplete: {none, none, none, "00010"},
		protocol.NotificationTaskStatus:          {none, none, "00010", "00010"},
		protocol.NotificationTask:                {none, none, none, "00001"},
		protocol.NotificationAcknowledged:        {none, none, none, "00001"},
		"tools/unknown":                          {none, none, none, none},
	}
	for _, m := range append(allMethods(), "tools/unknown") {
		got := [4]string{
			perRevision(func(d *dialect.Dialect) bool { return d.ClientMethod(m) }),
			perRevision(func(d *dialect.Dialect) bool { return d.ServerMethod(m) }),
			perRevision(func(d *dialect.Dialect) bool { return d.ClientNotification(m) }),
			perRevision(func(d *dialect.Dialect) bool { return d.ServerNotification(m) }),
		}
		if got != want[m] {
			t.Errorf("%s: %v, want %v", m, got, want[m])
		}
	}
}
