package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// namedImage is the image of a container, or of a volume, in the text of a manifest.
type namedImage struct {
	address      string
	line, column int
}

// checkImages reports the images of a manifest that the customer's cluster would pull from outside the customer's
// registry. What a template gives is known only when it is rendered.
func (c *checker) checkImages(f *fragment) {
	if len(f.text) > maxYAMLBytes {
		return
	}
	const hint = `mirror it with a container_image component and read its outputs; "nuon images adopt" writes both`
	report := c.warnf
	if c.metadata != nil && c.metadata.value.RequireMirroredImages {
		report = c.errorf
	}
	for _, image := range containerImages(f.text) {
		report(ruleImageOutside, f.position(image.line, image.column, len(image.address)), hint,
			"%s: image %s is pulled from outside the customer's registry", f.path, diagnostic.Quote(image.address))
	}
}

// imageKey matches a line with a key that may name an image, and its value. Both may be in quotes, and the value may
// have an anchor.
var imageKey = lazyregexp.New(`^(?:- +)*["']?(image|reference)["']?:[ \t]+(?:&[^\s,\[\]{}]+[ \t]+)?` +
	`["']?([^\s"'#{}&*!|>]+)["']?[ \t]*(?:#.*)?$`)

// blockStart matches the end of a line after which a text follows in deeper lines.
var blockStart = lazyregexp.New(`[:-][ \t]+[|>][-+0-9]*[ \t]*(?:#.*)?$`)

// containerImages returns the images of containers and of volumes in a manifest in block style, which may have
// templates, so that it is no YAML yet. It does not look into texts such as those of a ConfigMap, and leaves out what a
// template gives.
func containerImages(text string) []namedImage {
	var found []namedImage
	var above []openKey
	number, inText := 0, -1
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		content := strings.TrimLeft(line, " ")
		indent := len(line) - len(content)
		switch {
		case content == "" || content[0] == '#' || strings.HasPrefix(content, "{{"):
			continue
		case inText >= 0 && indent > inText:
			continue
		case strings.HasPrefix(content, "---"):
			above = nil
		}
		inText = -1
		above = closeKeys(above, indent, content[0] == '-')
		if match := imageKey.FindStringSubmatch(content); match != nil && namesImage(match[1], above) {
			found = append(found, namedImage{match[2], number, strings.LastIndex(line, match[2]) + 1})
		}
		for strings.HasPrefix(content, "- ") {
			above = append(above, openKey{indent: indent, item: true})
			rest := strings.TrimLeft(content[1:], " ")
			indent, content = indent+len(content)-len(rest), rest
		}
		if blockStart.MatchString(line) {
			inText = indent
		}
		if name, _, isKey := strings.Cut(content, ":"); isKey {
			above = append(above, openKey{indent: indent, name: strings.Trim(name, `"'`)})
		}
	}
	return found
}

// openKey is a key, or an item of a list, in whose value a line may be.
type openKey struct {
	indent int
	name   string
	item   bool
}

// closeKeys removes the keys that end before a line. An item may have the indentation of the key of its list.
func closeKeys(above []openKey, indent int, item bool) []openKey {
	for len(above) > 0 {
		last := above[len(above)-1]
		if last.indent < indent || last.indent == indent && item && !last.item {
			break
		}
		above = above[:len(above)-1]
	}
	return above
}

// namesImage reports whether a key is the image of a container, or the reference in that of a volume.
func namesImage(key string, above []openKey) bool {
	name, above := lastName(above)
	if key == "reference" && name == "image" {
		name, _ = lastName(above)
		return name == "volumes"
	}
	switch name {
	case "containers", "initContainers", "ephemeralContainers":
		return key == "image"
	}
	return false
}

// lastName returns the innermost key, and the ones in which it is.
func lastName(above []openKey) (name string, outer []openKey) {
	for len(above) > 0 && above[len(above)-1].item {
		above = above[:len(above)-1]
	}
	if len(above) == 0 {
		return "", nil
	}
	return above[len(above)-1].name, above[:len(above)-1]
}
