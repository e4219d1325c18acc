package rawschema

import "github.com/kagami-mcp/kagami/protocol/jsontext"

// place is a keyword that holds schemas, and the dialects that know it.
type place struct {
	keyword      string
	byName       bool // an object of schemas; otherwise a schema, or an array of them
	since, until version
}

// places are where schemas contain schemas. What looks like a schema elsewhere, as in const or
// in an unknown keyword, is not one.
var places = []place{
	{"allOf", false, draft4, draft2020},
	{"anyOf", false, draft4, draft2020},
	{"oneOf", false, draft4, draft2020},
	{"not", false, draft4, draft2020},
	{"if", false, draft7, draft2020},
	{"then", false, draft7, draft2020},
	{"else", false, draft7, draft2020},
	{"properties", true, draft4, draft2020},
	{"patternProperties", true, draft4, draft2020},
	{"additionalProperties", false, draft4, draft2020},
	{"propertyNames", false, draft6, draft2020},
	{"unevaluatedProperties", false, draft2019, draft2020},
	{"items", false, draft4, draft2020},
	{"prefixItems", false, draft2020, draft2020},
	{"additionalItems", false, draft4, draft2019},
	{"contains", false, draft6, draft2020},
	{"unevaluatedItems", false, draft2019, draft2020},
	{"dependencies", true, draft4, draft2020},
	{"dependentSchemas", true, draft2019, draft2020},
	{"definitions", true, draft4, draft2020},
	{"$defs", true, draft2019, draft2020},
	{"contentSchema", false, draft2019, draft2020},
}

// subschemas returns the schemas directly inside a schema. The result may contain other values,
// such as the names in dependencies.
func subschemas(v *value, dialect version) []*value {
	var found []*value
	for _, p := range places {
		held := v.member(p.keyword)
		switch {
		case held == nil, dialect < p.since, dialect > p.until:
		case p.byName, held.kind == jsontext.KindArray:
			for i := range held.items {
				found = append(found, &held.items[i])
			}
		default:
			found = append(found, held)
		}
	}
	return found
}
