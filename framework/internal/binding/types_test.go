package binding_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

type tBase struct {
	ID   int    `json:"id"`
	Note string `json:"note,omitempty"`
}

type tShadow struct {
	tBase
	ID string `json:"id,omitempty"`
}

type tLeft struct {
	X int
	L int `json:"l"`
}

type tRight struct {
	X int
	R int `json:"r"`
}

type tAmbiguous struct {
	tLeft
	tRight
}

type TEmbedPtr struct {
	P string `json:"p"`
}

// TDemanded is embedded as a pointer.
type TDemanded struct {
	P string `json:"p" validate:"required"`
}

type tViaPtr struct {
	*TEmbedPtr
	Q string `json:"q"`
}

type tNode struct {
	Name     string   `json:"name"`
	Children []*tNode `json:"children,omitempty"`
	Parent   *tNode   `json:"parent,omitempty"`
}

type tPing struct {
	Pong *tPong `json:"pong,omitempty"`
}

type tPong struct {
	Ping *tPing `json:"ping,omitempty"`
	N    int    `json:"n"`
}

type tForest map[string]tForest

// tRuled contains itself in every way, with rules each time.
type tRuled struct {
	V int                `json:"v" validate:"min=1"`
	R *tRuled            `json:"r,omitempty" validate:"omitempty"`
	L []*tRuled          `json:"l,omitempty" validate:"max=2,dive,required"`
	M map[string]*tRuled `json:"m,omitempty" validate:"dive,keys,min=2,endkeys,required"`
	T tRuledTree         `json:"t,omitempty" validate:"omitempty,min=1,dive,max=3,dive,min=1"`
}

type tRuledTree []tRuledTree

// tWrittenTree contains itself and only writes its own JSON.
type tWrittenTree []tWrittenTree

func (tWrittenTree) MarshalJSON() ([]byte, error) { return []byte("[]"), nil }

type tWrittenIn struct {
	T tWrittenTree `json:"t" validate:"max=2,dive,max=1"`
}

type tNest []tNest

type tBox[T any] struct {
	V T `json:"v"`
}

type tBoxList[T any] struct {
	V    T            `json:"v"`
	Next *tBoxList[T] `json:"next,omitempty"`
}

type tColor string

func (tColor) Values() []tColor { return []tColor{"red", "green", "blue"} }

type tLevel int

func (*tLevel) Values() []tLevel { return []tLevel{1, 2, 3} }

// tDay is a byte. A list of such bytes is not a text.
type tDay uint8

func (tDay) Values() []tDay { return []tDay{1, 2, 3} }

// tWords is a list that reads itself.
type tWords []string

func (w tWords) MarshalText() ([]byte, error) { return []byte(strings.Join(w, ",")), nil }
func (w *tWords) UnmarshalText(b []byte) error {
	*w = strings.Split(string(b), ",")
	return nil
}

// tSize is an int with a text form.
type tSize int

func (s tSize) MarshalText() ([]byte, error) {
	if s == 1 {
		return []byte("small"), nil
	}
	return []byte("large"), nil
}

func (s *tSize) UnmarshalText(b []byte) error {
	switch string(b) {
	case "small":
		*s = 1
	case "large":
		*s = 2
	default:
		return errors.New("no such size")
	}
	return nil
}

func (tSize) Values() []tSize { return []tSize{1, 2} }

// tTwice lists a value twice.
type tTwice string

func (tTwice) Values() []tTwice { return []tTwice{"a", "b", "a"} }

// tPoint marshals itself on a pointer receiver.
type tPoint struct{ x, y int }

func (p *tPoint) MarshalText() ([]byte, error) { return json.Marshal([]int{p.x, p.y}) }
func (p *tPoint) UnmarshalText(b []byte) error {
	var xy [2]int
	if err := json.Unmarshal(b, &xy); err != nil {
		return err
	}
	p.x, p.y = xy[0], xy[1]
	return nil
}

// tMoney marshals itself as JSON, and has a schema by a method with a pointer receiver.
type tMoney struct{ cents int64 }

func (m tMoney) MarshalJSON() ([]byte, error) { return json.Marshal(float64(m.cents) / 100) }
func (m *tMoney) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	m.cents = int64(f * 100)
	return nil
}
func (m *tMoney) JSONSchema() *jsonschema.Schema { return moneySchema }

var moneySchema = &jsonschema.Schema{Type: "number", Description: "an amount, in euros"}

// tOpaque marshals itself and has no schema.
type tOpaque struct{ raw string }

func (o tOpaque) MarshalJSON() ([]byte, error)  { return json.Marshal(o.raw) }
func (o *tOpaque) UnmarshalJSON(b []byte) error { o.raw = string(b); return nil }

type tExtended struct {
	A int `json:"a"`
}

func (tExtended) JSONSchemaExtend(s *jsonschema.Schema) { s.Title = "extended" }

// tWriteOnly has its own form only when it is written.
type tWriteOnly struct {
	A int `json:"a"`
}

func (w tWriteOnly) MarshalText() ([]byte, error) { return []byte("w"), nil }

type tAnyRoot struct {
	A any             `json:"a,omitempty"`
	R json.RawMessage `json:"r,omitempty"`
}

type tRules struct {
	Text   string            `json:"text" validate:"min=2,max=5"`
	Exact  string            `json:"exact" validate:"len=3"`
	Above  int               `json:"above" validate:"gt=0,lt=10"`
	Unsig  uint8             `json:"unsig" validate:"gte=1"`
	Ratio  float64           `json:"ratio" validate:"min=0,max=1"`
	One    string            `json:"one" validate:"oneof=a b 'c d'"`
	Num    int               `json:"num" validate:"oneof=1 2 3"`
	Mail   string            `json:"mail" validate:"email"`
	Site   string            `json:"site" validate:"url"`
	UUID   string            `json:"uuid" validate:"uuid"`
	IP     string            `json:"ip" validate:"ip"`
	Day    string            `json:"day" validate:"datetime=2006-01-02"`
	Alpha  string            `json:"alpha" validate:"alpha"`
	Prefix string            `json:"prefix" validate:"startswith=a.b,endswith=-"`
	Items  []string          `json:"items" validate:"min=1,max=3,unique,dive,required,max=4"`
	Pairs  map[string]int    `json:"pairs" validate:"max=2,dive,keys,alpha,endkeys,min=1"`
	Card   string            `json:"card" validate:"credit_card"`
	Wait   time.Duration     `json:"wait" validate:"min=1s"`
	When   time.Time         `json:"when" validate:"gt"`
	Later  int               `json:"later" validate:"gtfield=Above"`
	Either string            `json:"either" validate:"ipv4|hexcolor"`
	Maybe  string            `json:"maybe,omitempty" validate:"required_with=Card"`
	Deep   map[string][]tTag `json:"deep,omitempty"`
	Yes    bool              `json:"yes" validate:"required"`
	Opt    *int              `json:"opt" validate:"required,min=1"`
}

type tTag struct {
	Name string `json:"name" validate:"min=1"`
}

type tDefaults struct {
	S string         `json:"s" default:"x"`
	I int            `json:"i" default:"5" validate:"max=9"`
	B bool           `json:"b" default:"true"`
	F float64        `json:"f" default:"1.5"`
	D time.Duration  `json:"d" default:"90s"`
	C tColor         `json:"c" default:"red"`
	L []string       `json:"l" default:"a,b"`
	J []int          `json:"j" default:"[1,2]"`
	P *int           `json:"p" default:"3"`
	M map[string]int `json:"m" default:"{\"a\":1}"`
}

type tTagged struct {
	A string   `json:"a" title:"The A" doc:"first, second" header:"Region" secret:"true"`
	B string   `json:"b" jsonschema:"pattern=^[a-z]+$,example=abc"`
	C int      `json:"c" jsonschema:"multipleOf=5"`
	D []string `json:"d" jsonschema:"uniqueItems=true,maxItems=3"`
	E string   `json:"e" jsonschema_description:"eh, well"`
	F string   `json:"f" validate:"min=1" jsonschema:"readOnly=true"`
}

type tNames struct {
	Plain  int
	Dash   int     `json:"-,"` //nolint:staticcheck // the name "-" is tested
	Hidden int     `json:"-"`
	Opt    int     `json:",omitempty"`
	Quoted int     `json:"quoted,string"`
	QB     bool    `json:"qb,string"`
	QF     float64 `json:"qf,string"`
	QU     uint8   `json:"qu,string"`
	QS     string  `json:"qs,string"`
	QP     *int    `json:"qp,string"`
	inner  int     //nolint:unused // unexported on purpose
}

type tForm struct {
	Name  string        `json:"name" title:"Name" validate:"min=1,max=20"`
	Mail  string        `json:"mail" validate:"email"`
	Age   int           `json:"age" validate:"gt=17"`
	Score float64       `json:"score,omitempty" validate:"gt=0"`
	Ok    bool          `json:"ok" default:"true"`
	Color tColor        `json:"color"`
	More  []tColor      `json:"more,omitempty" validate:"max=2"`
	Pick  []string      `json:"pick,omitempty" validate:"dive,oneof=x y"`
	Site  *string       `json:"site" validate:"url"`
	Zip   string        `json:"zip,omitempty" validate:"number"`
	Wait  time.Duration `json:"wait,omitempty"`
	Level tLevel        `json:"level,omitempty"`
}

type tStrings struct {
	User string        `uri:"user" doc:"whose"`
	Year int           `validate:"min=2000,max=2100"`
	Kind tColor        `json:"kind,omitempty"`
	Flag *bool         `json:"flag"`
	When time.Time     `json:"when,omitzero"`
	Wait time.Duration `json:"wait" default:"5s"`
}

type typeCase struct {
	name string
	t    reflect.Type
	mode string // i, o, s, f
}

func on[T any](name, mode string) typeCase { return typeCase{name, reflect.TypeFor[T](), mode} }

// typeCases are the types with schemas in testdata/schemas.golden.
func typeCases() []typeCase {
	type field[T any] struct {
		V T `json:"v"`
	}
	return []typeCase{
		on[field[int]]("int", "i"), on[field[int8]]("int8", "i"), on[field[int16]]("int16", "i"),
		on[field[int32]]("int32", "i"), on[field[int64]]("int64", "i"), on[field[uint]]("uint", "i"),
		on[field[uint8]]("uint8", "i"), on[field[uint16]]("uint16", "i"), on[field[uint32]]("uint32", "i"),
		on[field[uint64]]("uint64", "i"), on[field[float32]]("float32", "i"), on[field[float64]]("float64", "i"),
		on[field[bool]]("bool", "i"), on[field[string]]("string", "i"), on[field[[]byte]]("bytes", "i"),
		on[field[time.Time]]("time", "i"), on[field[time.Duration]]("duration", "i"),
		on[field[json.Number]]("number", "i"), on[field[json.RawMessage]]("raw", "i"), on[field[any]]("any", "i"),
		on[field[big.Int]]("bigint", "i"), on[field[*big.Int]]("bigint pointer", "i"), on[field[big.Float]]("bigfloat", "i"),
		on[field[netip.Addr]]("addr", "i"), on[field[netip.Prefix]]("prefix", "i"),
		on[field[map[string]int]]("map", "i"), on[field[map[int]string]]("int map", "i"), on[field[map[uint8]string]]("uint map", "i"),
		on[field[map[netip.Addr]int]]("text map", "i"), on[field[map[netip.Addr]int]]("text map out", "o"),
		on[field[map[time.Time]int]]("time map", "i"), on[field[map[tPoint]int]]("own text map", "i"), on[field[map[tPoint]int]]("own text map out", "o"), on[field[map[string]any]]("any map", "i"),
		on[field[map[tColor]int]]("enum map", "i"), on[field[netip.Addr]]("addr out", "o"), on[field[map[tColor]int]]("enum map out", "o"),
		on[field[[3]int]]("array", "i"), on[field[[4]byte]]("byte array", "i"), on[field[[]string]]("slice", "i"),
		on[field[[][]int]]("slices", "i"), on[field[*string]]("pointer", "i"), on[field[**int]]("pointer pointer", "i"),
		on[field[[]*int]]("slice of pointers", "i"), on[field[struct{}]]("empty struct", "i"),
		on[struct{}]("nothing", "i"), on[map[string]string]("map root", "i"), on[map[string]any]("any map root", "i"),
		on[*tBase]("pointer root", "i"), on[tShadow]("shadowed", "i"), on[tAmbiguous]("ambiguous", "o"),
		on[tViaPtr]("embedded pointer", "i"), on[tNode]("recursive", "i"), on[tPing]("mutual", "i"),
		on[tRuled]("recursive with rules", "i"), on[tRuled]("recursive with rules out", "o"),
		on[field[tForest]]("recursive map", "i"), on[field[tNest]]("recursive slice", "i"),
		on[tBox[int]]("generic", "i"), on[tBox[tBox[string]]]("generic nested", "i"), on[tBoxList[tBase]]("generic recursive", "i"),
		on[field[tColor]]("string enum", "i"), on[field[tLevel]]("int enum", "i"), on[field[[]tDay]]("byte enums", "io"), on[field[tSize]]("text enum", "i"),
		on[field[*tColor]]("enum pointer", "i"), on[field[[]tColor]]("enums", "i"),
		on[field[tPoint]]("text on pointer", "i"), on[field[tMoney]]("hook on pointer", "i"), on[field[*tMoney]]("hook pointer", "i"),
		on[field[tOpaque]]("opaque", "i"), on[field[tExtended]]("extended", "i"), on[field[tWriteOnly]]("written as text", "i"),
		on[tAnyRoot]("anything", "i"), on[tRules]("rules", "i"), on[tDefaults]("defaults", "i"), on[tTagged]("tagged", "i"),
		on[tNames]("names", "i"),
		on[tBase]("struct out", "o"), on[[]tBase]("list out", "o"), on[string]("string out", "o"), on[*tBase]("pointer out", "o"),
		on[map[string][]int]("map out", "o"), on[tViaPtr]("embedded pointer out", "o"), on[tNode]("recursive out", "o"),
		on[field[tWriteOnly]]("text out", "o"), on[tRules]("rules out", "o"), on[field[any]]("any out", "o"),
		on[field[[]int]]("slice out", "o"), on[field[*string]]("nullable out", "o"), on[tNames]("names out", "o"), on[int]("int out", "o"),
		on[tNest]("recursive slice out", "o"),
		on[tStrings]("strings", "s"), on[tForm]("form", "f"), on[bool]("bool form", "f"), on[tColor]("enum form", "f"),
		on[[]tColor]("enums form", "f"), on[string]("string form", "f"), on[int]("int form", "f"),
	}
}

// vUser checks itself.
type vUser struct {
	Name string `json:"name"`
	Age  int    `json:"age"`
}

func (u vUser) Validate() error {
	var errs []error
	if strings.TrimSpace(u.Name) == "" {
		errs = append(errs, errors.New("name is blank"))
	}
	if u.Age < 0 {
		errs = append(errs, errors.New("age is below zero"))
	}
	return errors.Join(errs...)
}

type vCtx struct {
	A int `json:"a"`
}

func (v *vCtx) Validate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if v.A == 13 {
		return errors.New("a is unlucky.") //nolint:revive // its full stop must not be doubled
	}
	return nil
}
