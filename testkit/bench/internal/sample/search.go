package sample

import "fmt"

// Range is an inclusive range of numbers.
type Range struct {
	Min int `json:"min" doc:"lower bound" validate:"min=0"`
	Max int `json:"max" doc:"upper bound" validate:"max=1000000"`
}

// Filter is the nested object of SearchIn.
type Filter struct {
	Authors   []string `json:"authors" doc:"only these authors" validate:"max=16"`
	Published bool     `json:"published" doc:"only published documents"`
	Words     Range    `json:"words" doc:"document length"`
}

// SearchIn is the input of the tool search.
type SearchIn struct {
	Query    string            `json:"query" doc:"full-text query" validate:"min=1,max=256"`
	Mode     string            `json:"mode" doc:"how to match" validate:"oneof=exact fuzzy semantic"`
	Lang     string            `json:"lang" doc:"language of the documents" validate:"oneof=en de fr es ja"`
	Limit    int               `json:"limit" doc:"page size" validate:"min=1,max=100"`
	Offset   int               `json:"offset" doc:"page start" validate:"min=0,max=10000"`
	MinScore float64           `json:"min_score" doc:"lowest score to return" validate:"min=0,max=1"`
	Tags     []string          `json:"tags" doc:"all of these tags" validate:"max=16,dive,min=1"`
	IDs      []int             `json:"ids" doc:"restrict to these documents" validate:"max=64"`
	Filter   Filter            `json:"filter" doc:"further restrictions"`
	Labels   map[string]string `json:"labels" doc:"free-form labels"`
}

// Hit is one result of a search.
type Hit struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	URL     string   `json:"url"`
	Score   float64  `json:"score"`
	Snippet string   `json:"snippet"`
	Tags    []string `json:"tags"`
	Words   int      `json:"words"`
}

// SearchOut is the output of the tool search, about 2 KB as JSON.
type SearchOut struct {
	Total   int            `json:"total"`
	TookMs  float64        `json:"took_ms"`
	Mode    string         `json:"mode"`
	Hits    []Hit          `json:"hits"`
	Facets  map[string]int `json:"facets"`
	HasMore bool           `json:"has_more"`
}

// Index is what a server searches: its results, ready.
type Index struct{ out SearchOut }

// NewIndex prepares the results.
func NewIndex() *Index {
	out := SearchOut{
		Total: 1284, TookMs: 12.75, HasMore: true,
		Facets: map[string]int{"article": 812, "book": 97, "letter": 375},
	}
	for i := range 7 {
		out.Hits = append(out.Hits, Hit{
			ID:      fmt.Sprintf("doc-%06d", 1000+i*37),
			Title:   fmt.Sprintf("On mirrors and reflection, part %d", i+1),
			URL:     fmt.Sprintf("https://library.example.com/documents/%06d?view=full", 1000+i*37),
			Score:   0.98 - float64(i)*0.0625,
			Snippet: "… a mirror of polished bronze, cast for the shrine, shows the one who looks and nothing else …",
			Tags:    []string{"history", "craft"},
			Words:   1800 + 211*i,
		})
	}
	return &Index{out}
}

// Search is the large tool: ten fields in, about 2 KB out.
func (x *Index) Search(in SearchIn) SearchOut {
	out := x.out
	out.Mode = in.Mode
	return out
}

// SearchSchema is the input schema of search, for those who take one.
const SearchSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"full-text query","minLength":1,"maxLength":256},` +
	`"mode":{"type":"string","description":"how to match","enum":["exact","fuzzy","semantic"]},` +
	`"lang":{"type":"string","description":"language of the documents","enum":["en","de","fr","es","ja"]},` +
	`"limit":{"type":"integer","description":"page size","minimum":1,"maximum":100},` +
	`"offset":{"type":"integer","description":"page start","minimum":0,"maximum":10000},` +
	`"min_score":{"type":"number","description":"lowest score to return","minimum":0,"maximum":1},` +
	`"tags":{"type":"array","description":"all of these tags","maxItems":16,"items":{"type":"string","minLength":1}},` +
	`"ids":{"type":"array","description":"restrict to these documents","maxItems":64,"items":{"type":"integer"}},` +
	`"filter":{"type":"object","description":"further restrictions","properties":{` +
	`"authors":{"type":"array","description":"only these authors","maxItems":16,"items":{"type":"string"}},` +
	`"published":{"type":"boolean","description":"only published documents"},` +
	`"words":{"type":"object","description":"document length","properties":{` +
	`"min":{"type":"integer","description":"lower bound","minimum":0},` +
	`"max":{"type":"integer","description":"upper bound","maximum":1000000}},` +
	`"required":["min","max"],"additionalProperties":false}},` +
	`"required":["authors","published","words"],"additionalProperties":false},` +
	`"labels":{"type":"object","description":"free-form labels","additionalProperties":{"type":"string"}}},` +
	`"required":["query","mode","lang","limit","offset","min_score","tags","ids","filter","labels"],"additionalProperties":false}`

// SearchCall is what a client sends.
const SearchCall = `{"query":"mirrors of polished bronze","mode":"fuzzy","lang":"ja","limit":25,"offset":50,"min_score":0.25,` +
	`"tags":["history","craft","shrine"],"ids":[1001,1038,1075,1112,1149,1186],` +
	`"filter":{"authors":["Sei Shonagon","Kamo no Chomei"],"published":true,"words":{"min":500,"max":20000}},` +
	`"labels":{"client":"bench","team":"reading room","locale":"ja-JP"}}`
