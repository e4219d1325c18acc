package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

func TestConnectNegotiates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script   func(*fake)
		opts     []client.Option
		revision string // "" : Connect fails
		errText  string
	}{
		"discovery":        {script: (*fake).modern, revision: "2026-07-28"},
		"no probe timeout": {script: (*fake).modern, opts: []client.Option{client.ProbeTimeout(0)}, revision: "2026-07-28"},
		"unknown method": {
			script:   func(f *fake) { f.legacy("2025-11-25") },
			revision: "2025-11-25",
		},
		"any other error": {
			script: func(f *fake) {
				f.refuse(f.expect(protocol.MethodDiscover), -32602, "initialize first", "")
				f.initialized("2025-03-26")
			},
			revision: "2025-03-26",
		},
		"empty result": {
			script: func(f *fake) {
				f.result(f.expect(protocol.MethodDiscover), `{}`)
				f.initialized("2024-11-05")
			},
			revision: "2024-11-05",
		},
		"unsupported version, handshake revision named": {
			script: func(f *fake) {
				f.refuse(f.expect(protocol.MethodDiscover), -32022, "no", `{"supported":["2025-03-26","2025-06-18"],"requested":"2026-07-28"}`)
				if m := f.initialized("2025-06-18"); m.at("protocolVersion") != `"2025-06-18"` {
					f.t.Errorf("offered %s", m.text)
				}
			},
			revision: "2025-06-18",
		},
		"unsupported version, nothing in common": {
			script: func(f *fake) {
				f.refuse(f.expect(protocol.MethodDiscover), -32022, "no", `{"supported":["2030-01-01"],"requested":"2026-07-28"}`)
			},
			errText: "-32022",
		},
		"discovery names a handshake revision only": {
			script: func(f *fake) {
				f.result(f.expect(protocol.MethodDiscover), strings.ReplaceAll(discovery, `["2026-07-28"]`, `["2025-06-18"]`))
				f.initialized("2025-06-18")
			},
			revision: "2025-06-18",
		},
		"discovery without a common revision": {
			script: func(f *fake) {
				f.result(f.expect(protocol.MethodDiscover), strings.ReplaceAll(discovery, `["2026-07-28"]`, `["2030-01-01"]`))
			},
			errText: "2030-01-01",
		},
		"header mismatch is modern": {
			script:  func(f *fake) { f.refuse(f.expect(protocol.MethodDiscover), -32020, "mismatch", "") },
			errText: "mismatch",
		},
		"missing capability is modern": {
			script: func(f *fake) {
				f.refuse(f.expect(protocol.MethodDiscover), -32021, "missing", `{"requiredCapabilities":{"roots":{}}}`)
			},
			errText: "missing",
		},
		"modern alone never falls back": {
			script:  func(f *fake) { f.refuse(f.expect(protocol.MethodDiscover), -32601, "Method not found", "") },
			opts:    []client.Option{client.Revisions(protocol.Rev20260728)},
			errText: "Method not found",
		},
		"handshake alone does not probe": {
			script: func(f *fake) {
				if m := f.initialized("2025-03-26"); m.at("protocolVersion") != `"2025-03-26"` {
					f.t.Errorf("offered %s", m.text)
				}
			},
			opts:     []client.Option{client.Revisions(protocol.Rev20250326)},
			revision: "2025-03-26",
		},
		"unknown counter-offer": {
			script: func(f *fake) {
				f.refuse(f.expect(protocol.MethodDiscover), -32601, "Method not found", "")
				f.result(f.expect(protocol.MethodInitialize), `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
			},
			errText: "1999-01-01",
		},
		"modern counter-offer": {
			script: func(f *fake) {
				f.refuse(f.expect(protocol.MethodDiscover), -32601, "Method not found", "")
				f.result(f.expect(protocol.MethodInitialize), `{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
			},
			errText: "2026-07-28",
		},
		"nothing offered": {script: func(*fake) {}, opts: []client.Option{client.Revisions()}, errText: "no revision"},
		"no log level":    {script: func(*fake) {}, opts: []client.Option{client.LogLevel("loud")}, errText: `"loud" is not a log level`},
		"lost while probing": {
			script:  func(f *fake) { f.expect(protocol.MethodDiscover); _ = f.Close() },
			errText: io.ErrUnexpectedEOF.Error(),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, wait := dial(t, tt.script)
			c, err := client.Connect(t.Context(), target, tt.opts...)
			if tt.revision == "" {
				wait()
				if err == nil || !strings.Contains(err.Error(), tt.errText) {
					t.Fatalf("error %v, want one with %q", err, tt.errText)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wait()
			if c.Revision() != tt.revision || c.Server().Name != "fake" || c.Instructions() != "be kind" || !c.Capabilities().ToolsListChanged {
				t.Errorf("got %s, %+v, %q, %+v", c.Revision(), c.Server(), c.Instructions(), c.Capabilities())
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestProbeTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c, wait := connect(t, func(f *fake) {
			probe := f.expect(protocol.MethodDiscover)
			f.initialized("2025-06-18")
			f.result(probe, discovery) // too late: dropped
			f.result(f.expect(protocol.MethodPing), `{}`)
		})
		if got := time.Since(start); got != 5*time.Second {
			t.Errorf("probed for %v, want 5s", got)
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if c.Revision() != "2025-06-18" {
			t.Errorf("revision %s", c.Revision())
		}
		wait()
	})
}

// TestServerEndsAtTheProbe: some servers end if the first request is not initialize.
func TestServerEndsAtTheProbe(t *testing.T) {
	t.Parallel()
	ends := func(f *fake) { f.expect(protocol.MethodDiscover); _ = f.Close() }
	tests := map[string]struct {
		scripts []func(*fake) // of each connection
		opts    []client.Option
		err     string
	}{
		"initialize is answered": {scripts: []func(*fake){ends, func(f *fake) { f.initialized("2025-06-18") }}},
		"slow, too": {scripts: []func(*fake){
			func(f *fake) { f.expect(protocol.MethodDiscover); f.expect(protocol.MethodInitialize); _ = f.Close() },
			func(f *fake) { f.initialized("2025-06-18") },
		}},
		"initialize is refused":      {scripts: []func(*fake){ends, func(f *fake) { f.refuse(f.expect(protocol.MethodInitialize), -32603, "boom", "") }}, err: "server/discover: "},
		"it ends again":              {scripts: []func(*fake){ends, func(f *fake) { f.expect(protocol.MethodInitialize); _ = f.Close() }}, err: "server/discover: "},
		"no revision with handshake": {scripts: []func(*fake){ends}, opts: []client.Option{only(t, "2026-07-28")}, err: "server/discover: "},
		"no probe": {
			scripts: []func(*fake){func(f *fake) { f.expect(protocol.MethodInitialize); _ = f.Close() }},
			opts:    []client.Option{only(t, "2025-06-18")}, err: "initialize: ",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dials, running := 0, sync.WaitGroup{}
				target := client.Over(func(context.Context) (transport.Conn, error) {
					f := &fake{t: t, in: make(chan []byte), out: make(chan []byte), gone: make(chan struct{})}
					script := tt.scripts[dials]
					dials++
					running.Go(func() { script(f) })
					return f, nil
				})
				c, err := client.Connect(t.Context(), target, tt.opts...)
				running.Wait()
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || dials != len(tt.scripts) {
					t.Fatalf("%d connections: %v, want %q", dials, err, tt.err)
				}
				if err != nil {
					return
				}
				if c.Revision() != "2025-06-18" {
					t.Errorf("revision %s", c.Revision())
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestSlowModernServer: a server that is not ready for the probe in time may have no handshake.
func TestSlowModernServer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		supported string // by the answer of server/discover
		err       string
	}{
		"modern":                  {`["2026-07-28"]`, ""},
		"contradicts itself":      {`["2025-06-18"]`, "unsupported protocol version"},
		"no revision is familiar": {`["2030-01-01"]`, "no common revision"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				target, wait := dial(t, func(f *fake) {
					f.expect(protocol.MethodDiscover)
					f.refuse(f.expect(protocol.MethodInitialize), -32022, "unsupported protocol version", `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
					f.result(f.expect(protocol.MethodDiscover), strings.ReplaceAll(discovery, `["2026-07-28"]`, tt.supported))
				})
				c, err := client.Connect(t.Context(), target)
				wait()
				if tt.err != "" {
					if err == nil || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("error %v, want %s", err, tt.err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.Revision() != "2026-07-28" {
					t.Errorf("revision %s", c.Revision())
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestConnectGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var carrier context.Context
		f := &fake{t: t, in: make(chan []byte, 9), out: make(chan []byte), gone: make(chan struct{})}
		_, err := client.Connect(ctx, client.Over(func(ctx context.Context) (transport.Conn, error) {
			carrier = ctx //nolint:fatcontext // to be looked at afterwards
			return f, nil
		}))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if carrier.Err() == nil {
			t.Error("the carrier's context goes on")
		}
	})
}

// TestDialGivesUpWithItsContext: the error is the one of the caller's context, which the dial does not see.
func TestDialGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Connect(ctx, client.Over(func(ctx context.Context) (transport.Conn, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("dialing: %w", ctx.Err())
		}))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestCarrierContextOutlivesConnect(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	f := &fake{t: t, in: make(chan []byte), out: make(chan []byte), gone: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.modern()
	}()
	var carrier context.Context
	c, err := client.Connect(ctx, client.Over(func(inner context.Context) (transport.Conn, error) {
		carrier = inner //nolint:fatcontext // to be looked at afterwards
		return f, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	<-done
	cancel()
	if carrier.Err() != nil || carrier.Value(key{}) != "value" {
		t.Errorf("carrier's context: %v, value %v", carrier.Err(), carrier.Value(key{}))
	}
	_ = c.Close()
	if carrier.Err() == nil {
		t.Error("the carrier's context goes on after Close")
	}
}

func TestDialFails(t *testing.T) {
	t.Parallel()
	want := errors.New("no route")
	_, err := client.Connect(t.Context(), client.Over(func(context.Context) (transport.Conn, error) { return nil, want }))
	if !errors.Is(err, want) {
		t.Errorf("error %v", err)
	}
	_, err = client.Connect(t.Context(), client.Command(exec.Command("/does/not/exist")))
	if err == nil {
		t.Error("a missing program was started")
	}
	_, err = client.Connect(t.Context(), client.Over(func(context.Context) (transport.Conn, error) { return nil, nil }))
	if err == nil || !strings.Contains(err.Error(), "the connection is nil") {
		t.Errorf("error %v for no connection", err)
	}
}

func TestInitializeRetriesWithANamedVersion(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, func(f *fake) {
		f.refuse(f.expect(protocol.MethodInitialize), -32602, "Unsupported protocol version", `{"supported":["2024-11-05"],"requested":"2025-11-25"}`)
		f.initialized("2024-11-05")
	}, client.Revisions(protocol.Rev20241105, protocol.Rev20251125))
	if c.Revision() != "2024-11-05" {
		t.Errorf("revision %s", c.Revision())
	}
}

func TestRequestsSayWhatTheClientIs(t *testing.T) {
	t.Parallel()
	elicit := func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) { return nil, nil }
	c, _ := connect(t, func(f *fake) {
		probe := f.expect(protocol.MethodDiscover)
		f.result(probe, discovery)
		call := f.expect(protocol.MethodCallTool)
		for _, m := range []message{probe, call} {
			if m.at("_meta", metaVersion) != `"2026-07-28"` || m.at("_meta", metaClient, "name") != `"tester"` ||
				m.at("_meta", metaCapabilities, "elicitation") == "" || m.at("_meta", metaCapabilities, "sampling") != "" {
				f.t.Errorf("frame %s", m.text)
			}
		}
		f.result(call, `{"resultType":"complete","content":[]}`)
	}, client.Name("tester", "7"), client.OnElicit(elicit))
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
}

func TestHandshakeSaysWhatTheClientIs(t *testing.T) {
	t.Parallel()
	roots := func(context.Context) ([]protocol.Root, error) { return nil, nil }
	connect(t, func(f *fake) {
		m := f.initialized("2025-11-25")
		if m.at("clientInfo", "name") != `"tester"` || m.at("capabilities", "roots", "listChanged") != "true" || m.at("_meta") != "" {
			f.t.Errorf("frame %s", m.text)
		}
	}, client.Name("tester", "7"), client.OnRoots(roots), client.Revisions(protocol.Rev20251125))
}

// refusing is a connection that takes nothing. Reading sees no more than its end,
// before or after Write says why.
type refusing struct {
	why       error
	readFirst bool
	ended     chan struct{}
	once      sync.Once // closes ended
}

func (r *refusing) Read(context.Context) ([]byte, error) {
	<-r.ended
	return nil, io.EOF
}

func (r *refusing) Write(context.Context, []byte) error {
	end := func() { r.once.Do(func() { close(r.ended) }) }
	if !r.readFirst {
		time.AfterFunc(time.Second, end)
		return r.why
	}
	end()
	synctest.Wait() // until the reader has reported it
	return r.why
}

func (r *refusing) Close() error { return nil }

// TestReasonOfTheEnd checks that the error contains the reason why a connection accepts no more
// frames, and not only that it has ended.
func TestReasonOfTheEnd(t *testing.T) {
	t.Parallel()
	for _, readFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("read first %v", readFirst), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &refusing{why: errors.New("no more frames are taken"), readFirst: readFirst, ended: make(chan struct{})}
				_, err := client.Connect(t.Context(), client.Over(func(context.Context) (transport.Conn, error) { return r, nil }))
				if !errors.Is(err, r.why) || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("Connect: %v", err)
				}
			})
		})
	}
}
