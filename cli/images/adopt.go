package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/style"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Adoption is what adopt changes.
type Adoption struct {
	Files []File `json:"files"`
	Left  []Left `json:"left"`
	// Written reports whether the files were changed.
	Written bool `json:"written"`
}

// File is a file that changes; Before is empty for a new one.
type File struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Left is an image that stays as it is.
type Left struct {
	Component string `json:"component"`
	Image     string `json:"image"`
	Problem   string `json:"problem"`
}

// adoption is an adoption in progress.
type adoption struct {
	*app
	files map[string]string // texts by path, as far as they were read or changed
	made  *Adoption
	names map[address]string // components by the image that they mirror
}

// adopt returns the changes that mirror the images of the app.
func (a *app) adopt(ctx context.Context) (*Adoption, error) {
	d := &adoption{app: a, files: map[string]string{}, made: &Adoption{Files: []File{}, Left: []Left{}},
		names: map[address]string{}}
	if err := d.readFiles(); err != nil {
		return nil, err
	}
	before, found := maps.Clone(d.files), a.list(ctx)
	for _, p := range found.NotRead {
		d.made.Left = append(d.made.Left, Left{p.Component, "what it runs", p.Problem})
	}
	done := map[string]bool{}
	for _, i := range found.Images {
		key := i.Component + " " + i.Image
		if i.MirroredBy != "" || done[key] {
			continue
		}
		done[key] = true
		err := errors.New("its address depends on the install")
		if !i.Unknown {
			err = d.adoptImage(ctx, i)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			d.made.Left = append(d.made.Left, Left{i.Component, i.Image, err.Error()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		if d.files[name] != before[name] {
			d.made.Files = append(d.made.Files, File{name, before[name], formatted(name, before[name], d.files[name])})
		}
	}
	return d.made, nil
}

// formatted returns the text of a changed file in the style of nuon fmt, if it had that before.
func formatted(name, before, after string) string {
	if was, err := style.Format([]byte(before)); path.Ext(name) != ".toml" || err != nil || string(was) != before {
		return after
	}
	made, err := style.Format([]byte(after))
	if err != nil {
		return after // nuon validate reports it
	}
	return string(made)
}

// The limits of what is read to find the texts of a config.
const (
	maxFile  = 1 << 20
	maxFiles = 5000
)

// readFiles reads the files of the config directory that can name images.
func (d *adoption) readFiles() error {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return fmt.Errorf("read the config: %w", err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !slices.Contains([]string{".toml", ".yaml", ".yml", ".json"}, path.Ext(name)):
			return nil
		case len(d.files) >= maxFiles:
			return fmt.Errorf("the config in %s has more than %d files; name the directory of the app", d.dir, maxFiles)
		}
		info, err := entry.Info()
		if err != nil || info.Size() > maxFile {
			return err
		}
		content, err := root.ReadFile(filepath.FromSlash(name))
		d.files[name] = string(content)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the config: %w", err)
	}
	return nil
}

// adoptImage mirrors an image for one component that names it. On an error nothing has changed.
func (d *adoption) adoptImage(ctx context.Context, i Image) error {
	named, err := splitAddress(i.Image)
	if err != nil {
		return err
	}
	files, components := maps.Clone(d.files), slices.Clone(d.config.Components)
	name, isNew := d.componentFor(i, named)
	c, _ := d.config.Component(i.Component)
	original := *c
	changed := *c
	if isNew {
		d.files["components/"+name+".toml"] = componentText(name, named)
		d.config.Components = append(d.config.Components, appconfig.Component{Name: name, Kind: appconfig.KindContainerImage,
			Image: &appconfig.Image{Public: &format.PublicImage{ImageURL: named.repository, Tag: named.version()}}})
	}
	for _, try := range d.changes(&changed, i, "{{.nuon.components."+name+".outputs.image.") {
		changed = original
		d.files = maps.Clone(files)
		if isNew {
			d.files["components/"+name+".toml"] = componentText(name, named)
		}
		if !try(&changed) {
			continue
		}
		index := slices.IndexFunc(d.config.Components, func(c appconfig.Component) bool { return c.Name == i.Component })
		d.config.Components[index] = changed
		if d.isMirrored(ctx, &changed, i) {
			d.names[named] = name
			return nil
		}
		d.config.Components[index] = original
	}
	d.files, d.config.Components = files, components
	return errors.New("no value of the chart and no text of the config was found that sets it alone; write it by hand")
}

// isMirrored reports whether a component renders with a change, no longer names the image, and names no
// other one than before.
func (d *adoption) isMirrored(ctx context.Context, c *appconfig.Component, i Image) bool {
	found, err := d.imagesOf(ctx, c)
	if err != nil || len(found) == 0 {
		return false
	}
	return !slices.ContainsFunc(found, func(f Image) bool {
		return f.Image == i.Image || f.MirroredBy == "" && strings.Contains(f.Image, "{{.nuon.components.")
	})
}

// componentFor returns the component that mirrors an image, and whether it has to be written.
func (d *adoption) componentFor(i Image, named address) (name string, isNew bool) {
	if i.Candidate != "" {
		return i.Candidate, false
	}
	if name, known := d.names[named]; known {
		return name, false
	}
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, path.Base(named.repository)) + "_image"
	for n := 1; ; n++ {
		name = base
		if n > 1 {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		_, taken := d.config.Component(name)
		if _, exists := d.files["components/"+name+".toml"]; !taken && !exists {
			return name, true
		}
	}
}

func componentText(name string, named address) string {
	return fmt.Sprintf("# container-image\ntype = \"container_image\"\nname = %q\n\n"+
		"[public]\nimage_url = %q\ntag       = %q\n", name, named.repository, named.version())
}

// change changes a component in memory and in its files. It returns false if it does not apply.
type change func(*appconfig.Component) bool

// changes returns the ways to make a component read the image from the outputs at a prefix, the simplest
// first.
func (d *adoption) changes(c *appconfig.Component, i Image, output string) []change {
	ref, repository, tag := output+"ref}}", output+"repository}}", output+"tag}}"
	replace := func(text *string) bool {
		made := replaceAddress(*text, i.Image, ref)
		if made == *text || !d.replaceText(*text, made, i, ref) {
			return false
		}
		*text = made
		return true
	}
	if c.Manifest != nil {
		return []change{func(c *appconfig.Component) bool {
			manifest := *c.Manifest
			c.Manifest = &manifest
			return replace(&manifest.Text)
		}}
	}
	var all []change
	for n := range c.Helm.ValuesFiles {
		all = append(all, func(c *appconfig.Component) bool {
			helm := *c.Helm
			helm.ValuesFiles = slices.Clone(helm.ValuesFiles)
			c.Helm = &helm
			return replace(&helm.ValuesFiles[n])
		})
	}
	for _, sets := range candidates(d.values(c), i.Image, ref, repository, tag) {
		all = append(all, func(c *appconfig.Component) bool { return d.setValues(c, sets) })
	}
	return all
}

// values returns the values of a chart as far as texts: its own, and over them those of the component.
func (d *adoption) values(c *appconfig.Component) map[string]any {
	made := map[string]any{}
	for _, text := range append([]string{d.defaults[c.Name]}, c.Helm.ValuesFiles...) {
		var values map[string]any
		if yaml.Unmarshal([]byte(text), &values) == nil { // what is a template before it is YAML is left out
			overlay(made, values)
		}
	}
	return made
}

func overlay(into, values map[string]any) {
	for key, value := range values {
		inner, isMap := value.(map[string]any)
		if below, both := into[key].(map[string]any); isMap && both {
			overlay(below, inner)
			continue
		}
		into[key] = value
	}
}

// candidates returns the values that may set an image: one text with all of it, or a table with a
// repository and a tag, and maybe a registry.
func candidates(values map[string]any, address, ref, repository, tag string) []map[string]string {
	var all []map[string]string
	named, _ := splitAddress(address)
	var walk func(at []string, table map[string]any)
	walk = func(at []string, table map[string]any) {
		for _, key := range slices.Sorted(keysOf(table)) {
			below := strings.Join(append(slices.Clone(at), strings.ReplaceAll(key, ".", `\.`)), ".")
			switch value := table[key].(type) {
			case string:
				if value == address {
					all = append(all, map[string]string{below: ref})
				}
			case map[string]any:
				own, _ := value["repository"].(string)
				registry, _ := value["registry"].(string)
				if own != "" && (own == named.repository || registry+"/"+own == named.repository) {
					set := map[string]string{below + ".repository": repository, below + ".tag": tag}
					if _, has := value["registry"]; has {
						set[below+".registry"] = ""
					}
					if _, has := value["digest"]; has {
						set[below+".digest"] = ""
					}
					all = append(all, set)
				}
				walk(append(slices.Clone(at), strings.ReplaceAll(key, ".", `\.`)), value)
			}
		}
	}
	walk(nil, values)
	return all
}

// setValues adds values to the [values] of a component, in its file, too.
func (d *adoption) setValues(c *appconfig.Component, sets map[string]string) bool {
	file, found := d.fileOf(c.Name)
	if !found {
		return false
	}
	helm := *c.Helm
	helm.Values = maps.Clone(helm.Values)
	if helm.Values == nil {
		helm.Values = format.Scalars{}
	}
	lines := ""
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		if _, set := helm.Values[key]; set {
			return false
		}
		helm.Values[key] = sets[key]
		lines += fmt.Sprintf("%s = %q\n", tomlKey(key), sets[key])
	}
	c.Helm = &helm
	text := d.files[file]
	switch at := strings.Index("\n"+text, "\n[values]\n"); {
	case at >= 0:
		at += len("[values]\n")
		text = text[:at] + lines + text[at:]
	case strings.Contains(text, "values = {"), strings.Contains(text, "values.\""):
		return false
	default:
		text = strings.TrimRight(text, "\n") + "\n\n[values]\n" + lines
	}
	d.files[file] = text
	return toml.Unmarshal([]byte(text), &map[string]any{}) == nil
}

// bareKey is the form of keys that TOML does not quote.
var bareKey = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey.MatchString(key) {
		return key
	}
	return strconv.Quote(key)
}

// fileOf returns the file of a component.
func (d *adoption) fileOf(name string) (string, bool) {
	for file, text := range d.files {
		var named struct {
			Name string `toml:"name"`
		}
		if strings.HasPrefix(file, "components/") && path.Ext(file) == ".toml" &&
			toml.Unmarshal([]byte(text), &named) == nil && named.Name == name {
			return file, true
		}
	}
	return "", false
}

// replaceText changes a text of the config in the file that it is from: that of the text, or that of the
// component.
func (d *adoption) replaceText(before, after string, i Image, ref string) bool {
	for name, content := range d.files {
		if content == before {
			d.files[name] = after
			return true
		}
	}
	file, found := d.fileOf(i.Component)
	if !found {
		return false
	}
	made := replaceAddress(d.files[file], i.Image, ref)
	if made == d.files[file] || toml.Unmarshal([]byte(made), &map[string]any{}) != nil {
		return false
	}
	d.files[file] = made
	return true
}

// replaceAddress replaces an address in a text of YAML, where it is a value, and quotes what was not.
func replaceAddress(text, address, ref string) string {
	lines := strings.SplitAfter(text, "\n")
	for n, line := range lines {
		before, after, found := strings.Cut(line, address)
		trimmed := strings.TrimSpace(after)
		switch {
		case !found:
		case strings.HasSuffix(before, `"`) && strings.HasPrefix(after, `"`),
			strings.HasSuffix(before, "'") && strings.HasPrefix(after, "'"):
			lines[n] = before + ref + after
		case strings.HasSuffix(before, ": ") && (trimmed == "" || strings.HasPrefix(trimmed, "#")):
			lines[n] = before + `"` + ref + `"` + after
		}
	}
	return strings.Join(lines, "")
}

// write writes the files.
func (m *Adoption) write(dir string) error {
	for _, file := range m.Files {
		name := filepath.Join(dir, filepath.FromSlash(file.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(file.After), 0o644); err != nil {
			return err
		}
	}
	return nil
}
