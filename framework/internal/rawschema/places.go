package rawschema

import "github.com/kagami-mcp/kagami/protocol/jsontext"

// shape is how a keyword holds schemas.
type shape int

const (
	one    shape = iota // a schema
	list                // an array of them
	byName              // an object of them
)

// place is a keyword that holds schemas, and the dialects that know it.
type place struct {
	keyword      string
	shape        shape
	since, until version
}

// places are where schemas contain schemas. What looks like a schema elsewhere, as in const or
// in an unknown keyword, is not one.
var places = []place{
	{"allOf", list, draft4, draft2020},
	{"anyOf", list, draft4, draft2020},
	{"oneOf", list, draft4, draft2020},
	{"not", one, draft4, draft2020},
	{"if", one, draft7, draft2020},
	{"then", one, draft7, draft2020},
	{"else", one, draft7, draft2020},
	{"properties", byName, draft4, draft2020},
	{"patternProperties", byName, draft4, draft2020},
	{"additionalProperties", one, draft4, draft2020},
	{"propertyNames", one, draft6, draft2020},
	{"unevaluatedProperties", one, draft2019, draft2020},
	{"items", one, draft4, draft2020},
	{"items", list, draft4, draft2019},
	{"prefixItems", list, draft2020, draft2020},
	{"additionalItems", one, draft4, draft2019},
	{"contains", one, draft6, draft2020},
	{"unevaluatedItems", one, draft2019, draft2020},
	{"dependencies", byName, draft4, draft2020},
	{"dependentSchemas", byName, draft2019, draft2020},
	{"definitions", byName, draft4, draft2020},
	{"$defs", byName, draft2019, draft2020},
	{"contentSchema", one, draft2019, draft2020},
}

// subschemas are the schemas directly inside a schema.
func subschemas(v *value, dialect version) []*value {
	var found []*value
	for _, p := range places {
		if held := v.member(p.keyword); held != nil && p.since <= dialect && dialect <= p.until {
			found = p.append(found, held)
		}
	}
	return found
}

// append appends the schemas that the keyword holds.
func (p place) append(found []*value, held *value) []*value {
	if p.shape == one {
		if isSchema(held) {
			found = append(found, held)
		}
		return found
	}
	if (p.shape == list) != (held.kind == jsontext.KindArray) {
		return found
	}
	for i := range held.items {
		if isSchema(&held.items[i]) { // dependencies may also hold names
			found = append(found, &held.items[i])
		}
	}
	return found
}

func isSchema(v *value) bool {
	return v.kind == jsontext.KindObject || v.kind == jsontext.KindBool
}
