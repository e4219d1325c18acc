package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// ErrClosed is returned by Take and Subscribe after Close was called.
var ErrClosed = errors.New("redisstore: closed")

// Timeouts of a client that Open makes. The URL can set others.
const (
	dialTimeout = time.Second
	ioTimeout   = 1500 * time.Millisecond
)

// Store holds the state of a server in one Redis. New and Open return one. A Store is safe for
// concurrent use.
//
// begin adds a long operation to running and all; its end removes it. Close sets closed, so that
// begin fails from then on, cancels the operations in running, and waits for all. mu guards these
// fields.
type Store struct {
	client   redis.UniversalClient
	owned    bool // the client is closed with the store
	prefix   string
	box      box
	fault    error // error of the options; every operation that stores or reads returns it
	sessions sessions
	tasks    tasks
	events   events
	claims   claims
	changes  changes

	mu      sync.Mutex // guards all below
	closed  bool
	running map[*context.CancelCauseFunc]struct{}
	all     sync.WaitGroup // counts the operations in running
}

// New returns a store on the caller's client. Close does not close the client. The store sends
// nothing before the first use. The client must not be nil.
func New(client redis.UniversalClient, opts ...Option) *Store {
	o := settle(opts)
	s := &Store{client: client, prefix: o.prefix, running: map[*context.CancelCauseFunc]struct{}{}}
	if s.box, s.fault = newBox(o.keys); o.sealed && len(o.keys) == 0 {
		s.fault = errors.New("redisstore: Encrypt has no key")
	}
	if strings.ContainsAny(o.prefix, "{}") {
		s.fault = fmt.Errorf("redisstore: prefix %q: do not use braces, which a Cluster reads as the part of a key that chooses its slot", o.prefix)
	}
	if cluster, ok := client.(*redis.ClusterClient); ok && cluster.Options().ReadOnly {
		s.fault = errors.New("redisstore: the client reads from replicas, which may not have the last change yet: leave out ReadOnly, RouteByLatency and RouteRandomly")
	}
	s.sessions = sessions{s}
	s.claims = claims{s}
	s.changes = changes{s}
	s.events = events{store: s, bounds: o.events}
	s.tasks = tasks{store: s, most: o.tasks, takes: newTakeQueue(s, o)}
	return s
}

// Open returns a store with its own client, for redis://, rediss:// (TLS) and unix:// URLs with the
// parameters of redis.ParseURL.
//
// Open returns an error if the URL or an option is not valid. It also returns one if Redis does not
// answer within about two seconds, or the times of dial_timeout and read_timeout in the URL. If
// this Redis has only a part of the keys of a Cluster, Open fails as well: use New with a client
// for Clusters.
func Open(ctx context.Context, address string, opts ...Option) (*Store, error) {
	if u, err := url.Parse(address); err == nil && u.Opaque != "" { // redis.ParseURL would use localhost:6379
		return nil, errors.New("redisstore: the URL of Redis: want redis://HOST:PORT/DB, the // is missing")
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		// The text of a *url.Error has the password.
		if _, bad := errors.AsType[*url.Error](err); bad {
			err = errors.New("it cannot be read; write %23, %2F, %3F for #, / and ? in a password")
		}
		return nil, fmt.Errorf("redisstore: the URL of Redis: %w", err)
	}
	sane(options)
	s := New(redis.NewClient(options), opts...)
	s.owned = true
	if err := s.ping(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// sane sets timeouts, so that a Redis that cannot be reached is an error. It also turns off
// retries, because the store must not repeat a change, and notifications about maintenance.
//
// It keeps what the URL sets.
func sane(o *redis.Options) {
	for _, t := range []struct {
		set   *time.Duration
		value time.Duration
	}{{&o.DialTimeout, dialTimeout}, {&o.ReadTimeout, ioTimeout}, {&o.WriteTimeout, ioTimeout}, {&o.PoolTimeout, ioTimeout}} {
		if *t.set == 0 {
			*t.set = t.value
		}
	}
	if o.MaxRetries == 0 {
		o.MaxRetries = -1
	}
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func (s *Store) ping(ctx context.Context, o *redis.Options) error {
	if s.fault != nil {
		return s.fault
	}
	if o.ReadTimeout > 0 { // negative: no timeout
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.DialTimeout+o.ReadTimeout)
		defer cancel()
	}
	if err := s.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redisstore: connecting to Redis: %w", err)
	}
	// A client that is not allowed to ask, or a Redis without Cluster, returns an error.
	if info, err := s.client.ClusterInfo(ctx).Result(); err == nil && severalShards.MatchString(info) {
		return errors.New("redisstore: this Redis is a node of a Cluster: give redisstore.New a client of redis.NewClusterClient")
	}
	return nil
}

// severalShards is part of a Cluster node's answer, unless the node has all slots.
var severalShards = regexp.MustCompile(`(?m)^cluster_size:([2-9]|1\d)`)

// Close ends waiting calls of Take and Subscribe with ErrClosed, and waits for them. Therefore it
// must not be called from a subscribed function. Tasks that were taken stay leased until another
// store releases them or their leases expire. A client given to New stays open. Further calls of
// Close do nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	before := s.closed
	s.closed = true
	for cancel := range s.running {
		(*cancel)(ErrClosed)
	}
	s.mu.Unlock()
	s.tasks.takes.close()
	s.all.Wait()
	if before || !s.owned {
		return nil
	}
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("redisstore: closing the client: %w", err)
	}
	return nil
}

// begin registers an operation that takes long. Close cancels its context and waits for end.
//
// end must be called once, after all goroutines of the operation have ended. It takes s.mu. all.Add
// runs under s.mu while the store is open, so Close cannot miss it.
func (s *Store) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel(ErrClosed)
		return nil, nil, ErrClosed
	}
	s.all.Add(1)
	s.running[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		delete(s.running, &cancel)
		s.mu.Unlock()
		s.all.Done()
	}, nil
}

// Sessions returns the store for sessions. Redis expires each record.
func (s *Store) Sessions() session.Store { return &s.sessions }

// Tasks returns the store for tasks, which is also a task.Queue.
func (s *Store) Tasks() task.Store { return &s.tasks }

// Events returns the store for events.
func (s *Store) Events() eventlog.Store { return &s.events }

// Changes returns the bus for changes. Redis shares channels between databases. Stores that differ
// only in the number of the database therefore receive each other's messages.
func (s *Store) Changes() change.Bus { return &s.changes }

// Claims returns the store for claims.
func (s *Store) Claims() claim.Store { return &s.claims }
