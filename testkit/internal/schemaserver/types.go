package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema" //nolint:depguard // as a user's type that says its schema
)

type named string

type inner struct {
	A int    `json:"a"`
	B string `json:"b,omitempty"`
}

type embeds struct {
	inner
	C bool `json:"c"`
}

// Outer is exported because encoding/json cannot set an embedded pointer to an unexported struct.
type Outer struct {
	P string `json:"p"`
}

type embedsPointer struct {
	*Outer
	Q string `json:"q"`
}

type shadows struct {
	inner
	A string `json:"a,omitempty"`
}

type optional struct {
	A int           `json:"a,omitempty"`
	B *string       `json:"b"`
	C []int         `json:"c,omitempty"`
	D time.Time     `json:"d,omitzero"`
	E *inner        `json:"e,omitempty"`
	F time.Duration `json:"f,omitzero"`
}

type quoted struct {
	N int  `json:"n,string"`
	B bool `json:"b,string"`
}

type pair[A, B any] struct {
	First  A `json:"first"`
	Second B `json:"second"`
}

type tree struct {
	Name     string  `json:"name"`
	Children []*tree `json:"children,omitempty"`
	Parent   *tree   `json:"parent,omitempty"`
}

type ping struct {
	Pong *pong `json:"pong,omitempty"`
}

type pong struct {
	Ping *ping `json:"ping,omitempty"`
	N    int   `json:"n"`
}

type forest map[string]forest

type nest []nest

type linked[T any] struct {
	V    T          `json:"v"`
	Next *linked[T] `json:"next,omitempty"`
}

type color string

func (color) Values() []color { return []color{"red", "green", "blue"} }

type level int

func (level) Values() []level { return []level{1, 2, 3} }

// textValue has its text form on a value receiver, as far as it can.
type textValue struct{ x, y int }

func (v textValue) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d:%d", v.x, v.y), nil }

func (v *textValue) UnmarshalText(b []byte) error {
	x, y, found := strings.Cut(string(b), ":")
	var err, errY error
	v.x, err = strconv.Atoi(x)
	v.y, errY = strconv.Atoi(y)
	if err = errors.Join(err, errY); !found || err != nil {
		return errors.New("want two whole numbers with a colon between them")
	}
	return nil
}

func (textValue) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^-?[0-9]{1,9}:-?[0-9]{1,9}$"}
}

// textPointer has its text form and its schema on pointer receivers.
type textPointer struct{ v textValue }

func (p *textPointer) MarshalText() ([]byte, error)   { return p.v.MarshalText() }
func (p *textPointer) UnmarshalText(b []byte) error   { return p.v.UnmarshalText(b) }
func (p *textPointer) JSONSchema() *jsonschema.Schema { return p.v.JSONSchema() }

// money is a number on the wire.
type money struct{ cents int64 }

func (m money) MarshalJSON() ([]byte, error) { return json.Marshal(float64(m.cents) / 100) }

func (m *money) UnmarshalJSON(b []byte) error {
	var amount float64
	if err := json.Unmarshal(b, &amount); err != nil {
		return errors.New("want an amount")
	}
	m.cents = int64(amount * 100)
	return nil
}

func (money) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "number", Minimum: "-1e12", Maximum: "1e12"}
}

type moneyPointer struct{ m money }

func (p *moneyPointer) MarshalJSON() ([]byte, error)   { return p.m.MarshalJSON() }
func (p *moneyPointer) UnmarshalJSON(b []byte) error   { return p.m.UnmarshalJSON(b) }
func (p *moneyPointer) JSONSchema() *jsonschema.Schema { return p.m.JSONSchema() }

// opaque has a form that its type does not show.
type opaque struct{ raw json.RawMessage }

func (o opaque) MarshalJSON() ([]byte, error) { return o.raw, nil } //nolint:unparam // the interface's

func (o *opaque) UnmarshalJSON(b []byte) error { //nolint:unparam // the interface's
	o.raw = append(o.raw[:0], b...)
	return nil
}

type limits struct {
	N     int      `json:"n" validate:"min=1,max=10"`
	F     float64  `json:"f,omitempty" validate:"gt=0,lt=1"`
	S     string   `json:"s,omitempty" validate:"min=2,max=4"`
	L     []string `json:"l,omitempty" validate:"min=1,max=2,unique,dive,alpha"`
	One   string   `json:"one,omitempty" validate:"oneof=a b c"`
	Two   int      `json:"two,omitempty" validate:"oneof=2 4"`
	Start string   `json:"start,omitempty" validate:"startswith=a-b."`
}

type formats struct {
	Mail string `json:"mail,omitempty" validate:"email"`
	UUID string `json:"uuid,omitempty" validate:"uuid"`
	URL  string `json:"url,omitempty" validate:"http_url"`
	IPv4 string `json:"ipv4,omitempty" validate:"ipv4"`
	Host string `json:"host,omitempty" validate:"hostname"`
	Day  string `json:"day,omitempty" validate:"datetime=2006-01-02"`
	Hex  string `json:"hex,omitempty" validate:"hexcolor"`
	Ver  string `json:"ver,omitempty" validate:"semver"`
}

type defaults struct {
	S string        `json:"s" default:"x"`
	I int           `json:"i" default:"5" validate:"max=9"`
	B bool          `json:"b" default:"true"`
	D time.Duration `json:"d" default:"90s"`
	L []string      `json:"l" default:"a,b"`
	P *int          `json:"p" default:"3"`
}

type nils struct {
	List    []int          `json:"list"`
	Lists   [][]string     `json:"lists"`
	Map     map[string]int `json:"map"`
	Bytes   []byte         `json:"bytes"`
	Pointer *inner         `json:"pointer"`
	Any     any            `json:"any"`
	Tree    *tree          `json:"tree"`
}

// zeros has the kinds with a zero value that is not nil, as handlers leave them.
type zeros struct {
	Time     time.Time       `json:"time"`
	Duration time.Duration   `json:"duration"`
	Addr     netip.Addr      `json:"addr"`
	Prefix   netip.Prefix    `json:"prefix"`
	Big      big.Int         `json:"big"`
	BigPtr   *big.Int        `json:"big_pointer"`
	Number   json.Number     `json:"number"`
	Raw      json.RawMessage `json:"raw"`
	Text     textPointer     `json:"text"`
	Money    money           `json:"money"`
	Array    [2]string       `json:"array"`
}

// shape is a sum type: a circle, or a group of shapes.
type shape interface{ isShape() }

type circle struct {
	Radius float64 `json:"radius" validate:"gt=0"`
}

type group struct {
	Members []shape `json:"members" validate:"max=3"`
}

func (circle) isShape() {}
func (group) isShape()  {}
