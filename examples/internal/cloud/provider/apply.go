package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// ApplyResourceChange creates, updates or deletes an object.
func (s *server) ApplyResourceChange(ctx context.Context, q *tfprotov6.ApplyResourceChangeRequest) (
	*tfprotov6.ApplyResourceChangeResponse, error) {
	schema := s.schema.resource(q.TypeName)
	planned, err := read(q.PlannedState, schema)
	if err != nil {
		return nil, err
	}
	prior, err := read(q.PriorState, schema)
	if err != nil {
		return nil, err
	}
	operation := "update"
	switch {
	case prior == nil:
		operation = "create"
	case planned == nil:
		operation = "delete"
	}
	made := &tfprotov6.ApplyResourceChangeResponse{NewState: q.PriorState, Private: q.PlannedPrivate,
		UnsafeToUseLegacyTypeSystem: true}
	summary := strings.TrimSuffix(operation, "e") + "ing " + q.TypeName
	if err := s.meetFaults(ctx, q.TypeName, operation); err != nil {
		made.Diagnostics = failure(summary, err)
		return made, nil
	}
	after := planned
	if operation == "delete" {
		if err = s.deleteNamespace(ctx, q.TypeName, prior); err == nil {
			err = s.remove(q.TypeName, prior, string(q.PlannedPrivate))
		}
	} else if after, made.Private, err = s.change(q.TypeName, schema, planned, prior, q.PlannedPrivate); err == nil {
		err = s.ensureNamespace(ctx, q.TypeName, after)
	}
	if err != nil {
		made.Diagnostics = failure(summary, err)
		if operation == "create" && len(made.Private) > 0 {
			err = s.remove(q.TypeName, after, string(made.Private))
			made.Diagnostics = append(made.Diagnostics, failure(summary, err)...)
		}
		return made, nil
	}
	// An operation that fails after its work was done leaves the object behind.
	made.Diagnostics = failure(summary, s.meetFaults(ctx, q.TypeName, "after "+operation))
	if operation == "delete" && len(made.Diagnostics) > 0 {
		return made, nil
	}
	made.NewState, err = write(after, schema)
	return made, err
}

func (s *server) remove(typ string, prior object, key string) error {
	if err := checkDelete(typ, prior); err != nil {
		return err
	}
	if b := behaviors[typ]; b != nil {
		if b.remove == nil {
			return nil
		}
		return b.remove(prior)
	}
	return s.store.update(func(t *transaction) error {
		if found := t.locate(typ, key, prior); found != nil {
			t.remove(found.key)
		}
		return nil
	})
}

// change creates or updates an object and returns its attributes, and its key as private data.
func (s *server) change(typ string, schema *rootBlock, planned, prior object, private []byte) (
	after object, key []byte, err error) {
	given, err := json.Marshal(toJSON(planned))
	if err != nil {
		return nil, nil, err
	}
	f := &filler{server: s, typ: typ, schema: schema.Block, top: planned, seed: hash(typ, string(private), string(given))}
	stateless := behaviors[typ]
	err = s.store.update(func(t *transaction) error {
		if prior == nil {
			f.seed = hash(f.seed, strconv.Itoa(t.next(f.seed[:16])))
		}
		if stateless != nil {
			return nil
		}
		f.others = t
		if prior != nil && t.get(string(private)) == nil {
			return fmt.Errorf("the object %s does not exist any more", private)
		}
		f.fill()
		key := string(private)
		if prior == nil {
			key = t.freeKey(typ, f.key())
		}
		private = []byte(key)
		return t.put(key, planned)
	})
	if err == nil && stateless != nil {
		err = stateless.create(f)
		f.fill()
	}
	return planned, private, err
}

// checkDelete refuses to delete what its arguments protect.
func checkDelete(typ string, prior object) error {
	switch {
	case prior["deletion_protection"] == true, prior["enable_deletion_protection"] == true,
		prior["deletion_protection"] != false && slices.Contains(protectedByDefault, typ):
		return errors.New("cannot delete it while deletion protection is enabled: set the argument to false and apply first")
	case typ == "aws_db_instance" && prior["skip_final_snapshot"] != true && prior["final_snapshot_identifier"] == nil:
		return errors.New("final_snapshot_identifier is required when skip_final_snapshot is false")
	}
	return nil
}

// protectedByDefault are the types whose argument deletion_protection is true unless it is set.
var protectedByDefault = []string{"google_container_cluster", "google_sql_database_instance"}
