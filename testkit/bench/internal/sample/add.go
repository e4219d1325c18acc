package sample

// AddIn is the input of the tool add.
type AddIn struct {
	A int `json:"a" doc:"first addend"`
	B int `json:"b" doc:"second addend"`
}

// AddOut is the output of the tool add.
type AddOut struct {
	Sum int `json:"sum"`
}

// Add is the small tool: two numbers in, one out.
func Add(in AddIn) AddOut { return AddOut{Sum: in.A + in.B} }

// AddSchema is the input schema of add, for those who take one.
const AddSchema = `{"type":"object","properties":{` +
	`"a":{"type":"integer","description":"first addend"},` +
	`"b":{"type":"integer","description":"second addend"}},` +
	`"required":["a","b"],"additionalProperties":false}`

// AddCall is what a client sends.
const AddCall = `{"a":2,"b":3}`
