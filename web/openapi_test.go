package web

import (
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"go.yaml.in/yaml/v3"
)

var pathParam = regexp.MustCompile(`:(\w+)`)

func TestOpenAPIHasExactlyTheRoutes(t *testing.T) {
	h := newHouse(t)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]yaml.Node
	}
	served := h.do("GET", "/openapi.yaml", "").want(200)
	if err := yaml.Unmarshal(served.Body, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("got version %q", doc.OpenAPI)
	}
	written := map[string]bool{}
	for path, item := range doc.Paths {
		for method := range item {
			if method != "parameters" {
				written[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	routes := map[string]bool{}
	for _, r := range h.server.echo.Routes() {
		if r.Method == echo.RouteNotFound && written["GET "+r.Path] { // any other method, alike, which OpenAPI has no word for
			continue
		}
		if r.Method == "HEAD" || !strings.HasPrefix(r.Path, "/api/") && !written[r.Method+" "+r.Path] {
			continue
		}
		routes[r.Method+" "+pathParam.ReplaceAllString(r.Path, "{$1}")] = true
	}
	for r := range routes {
		if !written[r] {
			t.Errorf("%s is served but not written down", r)
		}
	}
	for w := range written {
		if !routes[w] {
			t.Errorf("%s is written down but not served", w)
		}
	}
	if len(routes) < 40 {
		t.Errorf("only %d routes", len(routes))
	}
}

// A key that is there twice is an error of YAML, and whatever reads the file keeps
// one of the two or none.
func TestOpenAPINamesEachThingOnce(t *testing.T) {
	var doc any // a yaml.Node would take it without a word
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Error(err)
	}
}

// Every $ref points at something, and every component is used.
func TestOpenAPIReferencesAreWhole(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	defined, used := map[string]bool{}, map[string]bool{}
	root := doc.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value != "components" {
			continue
		}
		for groups, g := root.Content[i+1].Content, 0; g < len(groups); g += 2 {
			for names, n := groups[g+1].Content, 0; n < len(names); n += 2 {
				if groups[g].Value != "securitySchemes" {
					defined["#/components/"+groups[g].Value+"/"+names[n].Value] = true
				}
			}
		}
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "$ref" {
			used[n.Content[1].Value] = true
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(root)
	for ref := range used {
		if !defined[ref] {
			t.Errorf("%s points nowhere", ref)
		}
	}
	for ref := range defined {
		if !used[ref] {
			t.Errorf("%s is used nowhere", ref)
		}
	}
}
