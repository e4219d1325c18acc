package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
)

// contactSchema has keywords that no Go type can express. It must be listed unchanged.
const contactSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
 "$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
 "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
 "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
 "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

func schemaTools() []framework.Component {
	return []framework.Component{
		framework.Tool("json_schema_2020_12_tool", contact,
			framework.Describe("Takes a contact, described by a schema of its own."),
			framework.InputSchema(contactSchema), framework.ReadOnly()),
		framework.Tool("test_x_mcp_header", inRegion,
			framework.Describe("Takes arguments that are mirrored into HTTP headers."), framework.ReadOnly()),
	}
}

func contact(_ context.Context, in json.RawMessage) (string, error) {
	return "JSON Schema 2020-12 tool called with: " + string(in), nil
}

type regionIn struct {
	Region   string `json:"region,omitempty" doc:"where to run" header:"Region"`
	Replicas int    `json:"replicas,omitempty" doc:"how many to run" header:"Replicas"`
	DryRun   bool   `json:"dryRun,omitempty" doc:"only say what would run" header:"Dry-Run"`
}

func inRegion(_ context.Context, in regionIn) (string, error) {
	if in.Region == "" {
		return "No region given.", nil
	}
	return fmt.Sprintf("Region: %s, replicas: %d, dry run: %t", in.Region, in.Replicas, in.DryRun), nil
}
