package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/cli/runnerdcmd"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// app is the config of an app on this machine.
type app struct {
	dir    string
	config *appconfig.App
	// The work tree with the config, and the repository and branch of which it is one.
	root, repository, branch string
	// defaults are the own values of the charts that were rendered, by component.
	defaults map[string]string
}

// Image is one use of an image.
type Image struct {
	// Component is the component whose manifest or chart names the image, in an object such as Deployment/web.
	Component string `json:"component"`
	Object    string `json:"object"`
	// Image is the address; what only an install knows is in it as a template.
	Image string `json:"image"`
	// MirroredBy is the component whose outputs the address comes from. Candidate is the component that has
	// the image, although its outputs are not read.
	MirroredBy string `json:"mirrored_by,omitempty"`
	Candidate  string `json:"candidate,omitempty"`
	// Unknown is set if the address depends on something else that only an install knows.
	Unknown bool `json:"unknown,omitempty"`
}

// NotRead is a component whose images are not known.
type NotRead struct {
	Component string `json:"component"`
	Problem   string `json:"problem"`
}

// List is what an app runs.
type List struct {
	Images  []Image   `json:"images"`
	NotRead []NotRead `json:"not_read"`
}

// state returns the last column of the table.
func (i Image) state() string {
	switch {
	case i.MirroredBy != "":
		return i.MirroredBy
	case i.Unknown:
		return "unknown: it depends on the install"
	case i.Candidate != "":
		return "none: " + i.Candidate + " has it, but its outputs are not read"
	}
	return "none"
}

// mirrored reports whether all images are known and mirrored.
func (l *List) mirrored() bool {
	return len(l.NotRead) == 0 && !slices.ContainsFunc(l.Images, func(i Image) bool { return i.MirroredBy == "" })
}

// list returns the images of all components, in the order of their names.
func (a *app) list(ctx context.Context) *List {
	made := &List{Images: []Image{}, NotRead: []NotRead{}}
	a.defaults = map[string]string{}
	for i := range a.config.Components {
		c := &a.config.Components[i]
		found, err := a.imagesOf(ctx, c)
		if err != nil {
			made.NotRead = append(made.NotRead, NotRead{c.Name, err.Error()})
		}
		made.Images = append(made.Images, found...)
	}
	return made
}

// imagesOf returns the images of a component, each object's once.
func (a *app) imagesOf(ctx context.Context, c *appconfig.Component) ([]Image, error) {
	marks, texts := &marks{config: a.config}, []string{}
	switch {
	case c.Manifest != nil && c.Manifest.Text != "":
		text, err := marks.render("manifest", c.Manifest.Text)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	case c.Manifest != nil:
		return nil, errors.New("kustomizations are not rendered here; look for images in what kustomize makes")
	case c.Helm != nil:
		rendered, err := a.renderChart(ctx, c, marks)
		if err != nil {
			return nil, err
		}
		a.defaults[c.Name], texts = rendered.Defaults, rendered.Objects
	}
	var all []Image
	for _, text := range texts {
		objects, err := decode(text)
		if err != nil {
			return all, err
		}
		for _, object := range objects {
			for _, address := range image.InObject(object) {
				found := a.classify(address, marks)
				found.Component, found.Object = c.Name, nameOf(object)
				if !slices.Contains(all, found) {
					all = append(all, found)
				}
			}
		}
	}
	return all, nil
}

// classify returns which component mirrors an image.
func (a *app) classify(address string, m *marks) Image {
	made := Image{Image: m.restore(address)}
	if paths := m.in(address); len(paths) > 0 {
		// Only the repository says where an image is pulled from: ghcr.io/acme/api:{{….image.tag}} is not mirrored.
		from := paths[0]
		if isRepository(from) && repositoryMark.MatchString(address) && a.isImage(from[1]) {
			made.MirroredBy = from[1]
		}
		made.Unknown = made.MirroredBy == ""
		return made
	}
	for _, c := range a.config.Components {
		if c.Image == nil {
			continue
		}
		repository, tag, _ := c.Image.Address()
		if named, err := splitAddress(address); err == nil && named.is(repository, tag) {
			made.Candidate = c.Name
		}
	}
	return made
}

// repositoryMark matches an address with a placeholder as its whole repository.
var repositoryMark = lazyregexp.New(`^` + markForm.String() + `(?:[:@]|$)`)

// isRepository reports whether a path is that of an output with the repository of an image.
func isRepository(path render.Path) bool {
	return len(path) == 5 && path.HasPrefix("components") && path[2] == "outputs" && path[3] == "image" &&
		(path[4] == "repository" || path[4] == "ref")
}

// isImage reports whether a component mirrors or builds an image.
func (a *app) isImage(name string) bool {
	c, found := a.config.Component(name)
	return found && (c.Image != nil || c.Docker != nil)
}

// address is the address of an image, in parts.
type address struct{ repository, tag, digest string }

// splitAddress splits repository:tag@digest, and checks the repository.
func splitAddress(text string) (address, error) {
	made := address{}
	text, made.digest, _ = strings.Cut(text, "@")
	made.repository = text
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, '/') {
		made.repository, made.tag = text[:colon], text[colon+1:]
	}
	_, err := image.ParseRepository(made.repository)
	return made, err
}

// version returns the tag for a config.
func (a address) version() string {
	switch {
	case a.digest == "" && a.tag == "":
		return "latest"
	case a.digest == "":
		return a.tag
	case a.tag == "":
		return a.digest
	}
	return a.tag + "@" + a.digest
}

// is reports whether a component with this image_url and tag has the image.
func (a address) is(url, tag string) bool {
	own, err := image.ParseRepository(a.repository)
	other, otherErr := image.ParseRepository(url)
	return err == nil && otherErr == nil && own == other && tag == a.version()
}

// renderRequest is the request to runnerd, which defines the same type.
type renderRequest struct {
	Chart     string         `json:"chart"`
	Values    []renderValues `json:"values,omitempty"`
	Sets      []string       `json:"sets,omitempty"`
	Release   string         `json:"release"`
	Namespace string         `json:"namespace"`
}

type renderValues struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

type renderResponse struct {
	Objects  []string `json:"objects"`
	Defaults string   `json:"defaults"`
}

// renderChart has runnerd render the chart of a component.
func (a *app) renderChart(ctx context.Context, c *appconfig.Component, m *marks) (*renderResponse, error) {
	request := renderRequest{Release: c.Helm.ChartName, Namespace: "default"}
	switch r := c.Helm.Repository; {
	case r != nil:
		request.Chart = strings.TrimRight(r.RepoURL, "/") + "/" + r.Chart
		if r.Version != "" {
			request.Chart += ":" + r.Version
		}
	case c.Source == nil || a.root == "" || !c.Source.IsIn(a.repository, a.branch):
		return nil, errors.New("its chart is in another repository than this directory")
	default:
		request.Chart = filepath.Join(a.root, filepath.FromSlash(c.Source.Directory))
	}
	for i, text := range c.Helm.ValuesFiles {
		name := fmt.Sprintf("values_file[%d]", i)
		rendered, err := m.render(name, text)
		if err != nil {
			return nil, err
		}
		request.Values = append(request.Values, renderValues{name, rendered})
	}
	for key, value := range c.Helm.Values {
		text := fmt.Sprint(value)
		if written, isText := value.(string); isText {
			rendered, err := m.render("values."+key, written)
			if err != nil {
				return nil, err
			}
			text = rendered
		}
		request.Sets = append(request.Sets, key+"="+text)
	}
	slices.Sort(request.Sets)
	output, err := runnerdcmd.Run(ctx, request, maxRendered, "the chart renders more than 64 MiB", "render", "helm")
	if err != nil {
		return nil, err
	}
	var made renderResponse
	if err := json.Unmarshal(output.Content, &made); err != nil {
		return nil, fmt.Errorf("%s returned no objects: %w; install the runnerd of the same version as nuon",
			output.Program, err)
	}
	return &made, nil
}

// maxRendered bounds what a chart renders, in bytes.
const maxRendered = 64 << 20

// decode reads the objects of a stream of YAML documents.
func decode(text string) ([]map[string]any, error) {
	var all []map[string]any
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var object map[string]any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, errors.New("what it renders is not YAML: " + err.Error())
		}
		if items, is := object["items"].([]any); is && object["kind"] == "List" {
			for _, item := range items {
				if one, is := item.(map[string]any); is {
					all = append(all, one)
				}
			}
			continue
		}
		if object != nil {
			all = append(all, object)
		}
	}
}

// nameOf returns the kind and the name of an object.
func nameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	kind, _ := object["kind"].(string)
	name, _ := metadata["name"].(string)
	return kind + "/" + name
}
