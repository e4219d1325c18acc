package binding_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

// These are the argument types of testdata/wrong_calls, written as real tools have them.
var wrongCallTypes = map[string]reflect.Type{
	"create_order":     reflect.TypeFor[wOrder](),
	"search_documents": reflect.TypeFor[wSearch](),
	"create_event":     reflect.TypeFor[wEvent](),
	"write_file":       reflect.TypeFor[wFile](),
	"get_forecast":     reflect.TypeFor[wForecast](),
	"create_payment":   reflect.TypeFor[wPayment](),
	"create_user":      reflect.TypeFor[wUser](),
	"list_tickets":     reflect.TypeFor[wTickets](),
	"http_request":     reflect.TypeFor[wRequest](),
	"query_metrics":    reflect.TypeFor[wMetrics](),
	"transfer_tokens":  reflect.TypeFor[wTransfer](),
	"set_lights":       reflect.TypeFor[wLights](),
	"deploy_service":   reflect.TypeFor[wDeploy](),
	"run_sql":          reflect.TypeFor[wSQL](),
	"translate":        reflect.TypeFor[wTranslate](),
	"plan_route":       reflect.TypeFor[wRoute](),
	"add_firewall":     reflect.TypeFor[wFirewall](),
	"generate_image":   reflect.TypeFor[wImage](),
	"set_config":       reflect.TypeFor[wConfig](),
	"save_menu":        reflect.TypeFor[wMenu](),
	"assign_seats":     reflect.TypeFor[wSeats](),
}

type wOrder struct {
	CustomerID string      `json:"customer_id" doc:"who buys" validate:"alphanum"`
	Items      []wOrderRow `json:"items" validate:"min=1,max=50"`
	Ship       *wAddress   `json:"shipping_address" doc:"where to; the customer's own if absent"`
	Express    bool        `json:"express,omitempty"`
	Coupon     string      `json:"coupon,omitempty" validate:"len=8"`
	Status     string      `json:"status" default:"draft" validate:"oneof=draft placed paid"`
}

type wOrderRow struct {
	SKU       string  `json:"sku" validate:"min=3"`
	Quantity  int     `json:"quantity" validate:"min=1,max=999"`
	UnitPrice float64 `json:"unit_price,omitempty" validate:"gt=0"`
}

type wAddress struct {
	Street  string `json:"street"`
	City    string `json:"city"`
	Country string `json:"country" validate:"len=2,uppercase"`
}

type wSearch struct {
	Query   string   `json:"query" doc:"words to look for" validate:"min=1,max=200"`
	Limit   int      `json:"limit" default:"10" validate:"min=1,max=100"`
	Offset  int      `json:"offset,omitempty" validate:"min=0"`
	Tags    []string `json:"tags,omitempty" validate:"max=5"`
	SortBy  string   `json:"sort_by" default:"relevance" validate:"oneof=relevance date title"`
	Filters *struct {
		Author   string `json:"author,omitempty"`
		YearFrom int    `json:"year_from,omitempty" validate:"min=1900"`
		YearTo   int    `json:"year_to,omitempty" validate:"max=2100"`
		Language string `json:"language,omitempty" validate:"len=2"`
	} `json:"filters"`
}

type wVisibility string

func (wVisibility) Values() []wVisibility { return []wVisibility{"public", "private", "busy-only"} }

type wEvent struct {
	Title      string        `json:"title" validate:"min=1"`
	Start      time.Time     `json:"start_time"`
	End        time.Time     `json:"end_time" validate:"gtfield=Start"`
	Attendees  []string      `json:"attendees,omitempty" validate:"dive,email"`
	Location   *string       `json:"location"`
	Reminders  []int         `json:"reminders,omitempty" doc:"minutes before" validate:"dive,min=0,max=10080"`
	Visibility wVisibility   `json:"visibility" default:"private"`
	Snooze     time.Duration `json:"snooze,omitempty" validate:"max=1h"`
}

type wFile struct {
	Path        string `json:"path" validate:"min=1,startswith=/"`
	Content     string `json:"content"`
	Mode        string `json:"mode" default:"create" validate:"oneof=create overwrite append"`
	CreateDirs  bool   `json:"create_dirs,omitempty"`
	Permissions string `json:"permissions,omitempty" validate:"number,len=4"`
	Binary      []byte `json:"binary,omitempty"`
}

type wForecast struct {
	Latitude  float64 `json:"latitude" validate:"min=-90,max=90"`
	Longitude float64 `json:"longitude" validate:"min=-180,max=180"`
	Days      uint8   `json:"days" default:"3" validate:"min=1,max=14"`
	Units     string  `json:"units" default:"metric" validate:"oneof=metric imperial"`
	Hourly    bool    `json:"hourly,omitempty"`
	Date      string  `json:"date,omitempty" validate:"datetime=2006-01-02"`
}

type wPayment struct {
	Amount   int64             `json:"amount" doc:"in cents" validate:"gt=0"`
	Currency string            `json:"currency" validate:"oneof=EUR USD GBP JPY"`
	Source   wSource           `json:"source"`
	Key      string            `json:"idempotency_key" validate:"uuid"`
	Capture  bool              `json:"capture" default:"true"`
	Metadata map[string]string `json:"metadata,omitempty" validate:"max=10"`
}

type wSource struct {
	Type  string `json:"type" validate:"oneof=card bank wallet"`
	Token string `json:"token" validate:"startswith=tok_"`
}

type wRole string

func (wRole) Values() []wRole { return []wRole{"admin", "editor", "viewer"} }

type wUser struct {
	Username string  `json:"username" validate:"alphanum,min=3,max=20"`
	Email    string  `json:"email" validate:"email"`
	Age      uint8   `json:"age" validate:"min=13,max=120"`
	Roles    []wRole `json:"roles" validate:"min=1,unique"`
	Website  *string `json:"website" validate:"url"`
	Active   bool    `json:"active"`
	Password string  `json:"password" secret:"true" validate:"min=8"`
}

type wTickets struct {
	Filter struct {
		Status   []string `json:"status,omitempty" validate:"dive,oneof=open pending closed"`
		Assignee *string  `json:"assignee"`
		Created  *struct {
			After  time.Time `json:"after,omitzero"`
			Before time.Time `json:"before,omitzero"`
		} `json:"created"`
		Fields []wCondition `json:"custom_fields,omitempty"`
	} `json:"filter"`
	Page struct {
		Number int `json:"number" default:"1" validate:"min=1"`
		Size   int `json:"size" default:"25" validate:"min=1,max=100"`
	} `json:"page,omitzero"`
	Include []string `json:"include,omitempty" validate:"unique,dive,oneof=comments history"`
}

type wCondition struct {
	Field    string `json:"field"`
	Operator string `json:"operator" validate:"oneof=eq ne lt gt"`
	Value    any    `json:"value"`
}

type wRequest struct {
	Method  string            `json:"method" default:"GET" validate:"oneof=GET POST PUT DELETE"`
	URL     string            `json:"url" validate:"http_url"`
	Headers map[string]string `json:"headers,omitempty"`
	Timeout time.Duration     `json:"timeout" default:"30s" validate:"min=1s,max=5m"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Follow  bool              `json:"follow_redirects" default:"true"`
	Retries uint8             `json:"retries,omitempty" validate:"max=5"`
}

type wMetrics struct {
	Name        string            `json:"metric_name"`
	From        time.Time         `json:"from"`
	To          time.Time         `json:"to" validate:"gtfield=From"`
	Step        time.Duration     `json:"step" default:"1m" validate:"min=1s"`
	Aggregation string            `json:"aggregation" default:"avg" validate:"oneof=avg sum min max"`
	Labels      map[string]string `json:"labels,omitempty"`
	Percentiles []float64         `json:"percentiles,omitempty" validate:"max=5,dive,gt=0,lt=100"`
}

type wTransfer struct {
	From     string      `json:"from" validate:"hexadecimal"`
	To       string      `json:"to" validate:"hexadecimal,nefield=From"`
	Amount   big.Int     `json:"amount" doc:"in the smallest unit"`
	Nonce    uint64      `json:"nonce"`
	GasPrice json.Number `json:"gas_price,omitempty"`
	ChainID  int32       `json:"chain_id" default:"1" validate:"min=1"`
	Confirm  bool        `json:"confirm"`
}

type wLevel int

func (wLevel) Values() []wLevel { return []wLevel{0, 25, 50, 75, 100} }

type wLights struct {
	Room       string      `json:"room" validate:"oneof=kitchen bedroom hall"`
	On         bool        `json:"on"`
	Brightness wLevel      `json:"brightness" default:"100"`
	Color      string      `json:"color,omitempty" validate:"hexcolor"`
	Schedule   []wTimeSlot `json:"schedule,omitempty" validate:"max=7"`
	Fade       *float32    `json:"fade_seconds" validate:"min=0,max=10"`
}

type wTimeSlot struct {
	Day string `json:"day" validate:"oneof=mon tue wed thu fri sat sun"`
	At  string `json:"at" validate:"datetime=15:04"`
}

type wDeploy struct {
	Service  string            `json:"service" validate:"hostname_rfc1123"`
	Version  string            `json:"version" validate:"semver"`
	Env      string            `json:"environment" validate:"oneof=dev staging production"`
	Replicas int               `json:"replicas" default:"2" validate:"min=1,max=50"`
	Vars     map[string]string `json:"env_vars,omitempty"`
	Wait     time.Duration     `json:"wait,omitempty" validate:"min=1s,max=1h"`
	Regions  []string          `json:"regions" validate:"min=1,dive,oneof=eu us asia"`
	Probe    *struct {
		Path string `json:"path" validate:"startswith=/"`
		Port uint16 `json:"port" validate:"min=1"`
	} `json:"health_check"`
}

type wSQL struct {
	Query    string        `json:"sql" validate:"min=1"`
	Params   []any         `json:"params,omitempty"`
	Database string        `json:"database" validate:"oneof=orders users reports"`
	MaxRows  int           `json:"max_rows" default:"100" validate:"min=1,max=10000"`
	ReadOnly bool          `json:"read_only" default:"true"`
	Timeout  time.Duration `json:"timeout,omitempty"`
}

type wTranslate struct {
	Text      []string          `json:"texts" validate:"min=1,max=10,dive,min=1"`
	Source    *string           `json:"source_language" validate:"len=2,lowercase"`
	Target    string            `json:"target_language" validate:"len=2,lowercase"`
	Formality string            `json:"formality,omitempty" validate:"oneof=formal informal"`
	Glossary  map[string]string `json:"glossary,omitempty"`
	Score     bool              `json:"with_score,omitempty"`
}

type wPoint struct {
	Lat float64 `json:"lat" validate:"min=-90,max=90"`
	Lon float64 `json:"lon" validate:"min=-180,max=180"`
}

type wRoute struct {
	Origin      wPoint    `json:"origin"`
	Destination wPoint    `json:"destination"`
	Waypoints   []wPoint  `json:"waypoints,omitempty" validate:"max=8"`
	Mode        string    `json:"mode" default:"driving" validate:"oneof=driving walking cycling transit"`
	Avoid       []string  `json:"avoid,omitempty" validate:"dive,oneof=tolls ferries highways"`
	Depart      time.Time `json:"depart_at,omitzero"`
}

type wFirewall struct {
	Network  netip.Prefix   `json:"network"`
	Except   []netip.Addr   `json:"except,omitempty"`
	Ports    []uint16       `json:"ports" validate:"min=1,dive,min=1"`
	Protocol string         `json:"protocol" validate:"oneof=tcp udp icmp"`
	Action   string         `json:"action" default:"deny" validate:"oneof=allow deny"`
	TTL      *time.Duration `json:"ttl"`
	Comment  string         `json:"comment,omitempty" validate:"max=80"`
}

type wImage struct {
	Prompt string `json:"prompt" validate:"min=3"`
	Width  int    `json:"width" default:"512" validate:"min=64,max=2048" jsonschema:"multipleOf=8"`
	Height int    `json:"height" default:"512" validate:"min=64,max=2048" jsonschema:"multipleOf=8"`
	Count  int8   `json:"count" default:"1" validate:"min=1,max=4"`
	Style  string `json:"style,omitempty" validate:"oneof=photo sketch oil-painting"`
	Seed   *int64 `json:"seed"`
	Crop   [4]int `json:"crop,omitzero" doc:"left, top, right, bottom"`
}

// wScalar is text, a number or a bool.
type wScalar struct{ v any }

func (s wScalar) MarshalJSON() ([]byte, error) { return json.Marshal(s.v) }

func (s *wScalar) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	switch v.(type) {
	case string, float64, bool:
		s.v = v
		return nil
	}
	return errors.New("want text, a number or a bool")
}

func (wScalar) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

type wConfig struct {
	Key    string             `json:"key" validate:"min=1"`
	Value  wScalar            `json:"value"`
	Scope  string             `json:"scope" default:"user" validate:"oneof=user project global"`
	Extras map[string]wScalar `json:"extras,omitempty"`
	Expire *time.Time         `json:"expires_at"`
	Force  bool               `json:"force,omitempty"`
}

type wMenu struct {
	Root   wMenuItem `json:"top"`
	Locale string    `json:"locale" default:"en" validate:"len=2"`
	Draft  bool      `json:"draft,omitempty"`
}

type wMenuItem struct {
	Label    string      `json:"label" validate:"min=1,max=30"`
	Link     string      `json:"link,omitempty" validate:"uri"`
	Order    int         `json:"order,omitempty" validate:"min=0"`
	Children []wMenuItem `json:"children,omitempty" validate:"max=5"`
}

type wSeats struct {
	Flight string         `json:"flight" validate:"alphanum,uppercase"`
	Seats  map[int]string `json:"seats" doc:"passenger by row" validate:"min=1"`
	Class  string         `json:"class" default:"economy" validate:"oneof=economy business first"`
	Bags   map[string]int `json:"bags,omitempty" validate:"dive,min=0,max=3"`
	Notify []string       `json:"notify,omitempty" validate:"max=2,dive,e164"`
}
