package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const usage = `usage:
  cloud objects                          print all objects as JSON
  cloud create TYPE                      create an object with the attributes on stdin, as JSON
  cloud remove TYPE ID                   remove an object
  cloud drift TYPE ID ATTRIBUTE VALUE    change an attribute; the value is JSON
  cloud faults                           replace the list of faults by the one on stdin
  cloud init                             make the certificate authority of the clusters`

// command runs a command on the cloud.
func command(s *store, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "init":
		return s.update(func(*transaction) error { return createAuthority(s.directory) })
	case len(args) == 1 && args[0] == "objects":
		return printObjects(s, os.Stdout)
	case len(args) == 2 && args[0] == "create":
		return createObject(s, args[1], os.Stdin)
	case len(args) == 3 && args[0] == "remove":
		return s.update(func(t *transaction) error {
			found, err := t.find(args[1], args[2])
			if err == nil {
				t.remove(found.key)
			}
			return err
		})
	case len(args) == 5 && args[0] == "drift":
		return s.update(func(t *transaction) error { return drift(t, args[1], args[2], args[3], args[4]) })
	case len(args) == 1 && args[0] == "faults":
		return setFaults(s, os.Stdin)
	}
	return errors.New(usage)
}

// find returns an object by its type and id, or an error.
func (t *transaction) find(typ, id string) (*stored, error) {
	if found := t.byID(typ, id); found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("there is no %s with the id %q", typ, id)
}

func printObjects(s *store, to io.Writer) error {
	type shown struct {
		Type       string          `json:"type"`
		ID         string          `json:"id"`
		Attributes json.RawMessage `json:"attributes"`
	}
	all := []shown{}
	err := s.update(func(t *transaction) error {
		for _, o := range t.ordered("") {
			all = append(all, shown{o.typ(), strings.TrimPrefix(o.key, o.typ()+"/"), o.raw})
		}
		return nil
	})
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(all)
}

// drift changes an attribute of an object. A dot separates the names of nested attributes.
func drift(t *transaction, typ, id, attribute, value string) error {
	found, err := t.find(typ, id)
	if err != nil {
		return err
	}
	changed, ok := decodeJSON([]byte(value))
	if !ok {
		return fmt.Errorf("the value %s is no JSON", value)
	}
	attributes := asObject(clone(found.attributes()))
	at := attributes
	names := strings.Split(attribute, ".")
	for _, name := range names[:len(names)-1] {
		next := items(at[name], "list")
		if len(next) != 1 {
			return fmt.Errorf("%s %s has no attribute %s", typ, id, attribute)
		}
		at = next[0]
	}
	at[names[len(names)-1]] = changed
	return t.put(found.key, attributes)
}

func decodeJSON(text []byte) (x any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&x)
	return x, err == nil
}

// createObject creates an object that exists before anything is installed. It prints it.
func createObject(s *store, typ string, from io.Reader) error {
	name, _, _ := strings.Cut(typ, "_")
	schema, err := loadSchema(name, newest[name])
	if err != nil {
		return err
	}
	resource := schema.resource(typ)
	if resource == nil {
		return fmt.Errorf("there is no resource type %s", typ)
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	x, ok := decodeJSON(text)
	if !ok {
		return errors.New("the attributes are no JSON")
	}
	planned := asObject(fromJSON(x, withBlocks(resource.Block)))
	for name, n := range resource.Block.Blocks {
		if planned[name] == nil && n.Mode != "single" {
			planned[name] = []any{}
		}
	}
	made := &server{name: name, schema: schema, store: s, config: object{}}
	made.setTagsAll(resource.Block, planned)
	made.markUnknown(resource.Block, planned)
	after, _, err := made.change(typ, resource, planned, nil, nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(toJSON(after))
}

func withBlocks(b *block) tftypes.Type { return *b.object }

// newest are the major versions that createObject creates objects of, where there are several.
var newest = map[string]string{"aws": "6", "helm": "3"}

func setFaults(s *store, from io.Reader) error {
	var faults []fault
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&faults); err != nil {
		return err
	}
	return s.update(func(*transaction) error {
		return writeFaults(filepath.Join(s.directory, faultsFile), faults)
	})
}
