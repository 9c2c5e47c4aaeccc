package main

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// server answers Terraform's calls for one provider. The calls that it does not implement are for
// features that the schemas do not have.
type server struct {
	tfprotov6.ProviderServer

	name   string // the type in the provider's source, such as aws
	schema *schemaFile
	store  *store
	config object // the provider block
}

// serve serves a provider until Terraform ends it.
func serve(name, version string, s *store) error {
	schema, err := loadSchema(name, version)
	if err != nil {
		return err
	}
	return tf6server.Serve("registry.terraform.io/hashicorp/"+name, func() tfprotov6.ProviderServer {
		return &server{name: name, schema: schema, store: s}
	})
}

// capabilities let Terraform read the schema once, not in every process of the provider that it starts.
var capabilities = &tfprotov6.ServerCapabilities{GetProviderSchemaOptional: true}

func (s *server) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	made := &tfprotov6.GetMetadataResponse{ServerCapabilities: capabilities}
	for _, typ := range s.schema.Resources.names() {
		made.Resources = append(made.Resources, tfprotov6.ResourceMetadata{TypeName: typ})
	}
	for _, typ := range s.schema.dataNames() {
		made.DataSources = append(made.DataSources, tfprotov6.DataSourceMetadata{TypeName: typ})
	}
	return made, nil
}

func (s *server) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (
	*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{ServerCapabilities: capabilities, Provider: s.schema.Provider.proto(),
		ProviderMeta: s.schema.Meta.proto(), ResourceSchemas: protoSchemas(s.schema.Resources.names(), s.schema.resource),
		DataSourceSchemas: protoSchemas(s.schema.dataNames(), s.schema.data)}, nil
}

func (s *server) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (
	*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (s *server) GetFunctions(context.Context, *tfprotov6.GetFunctionsRequest) (
	*tfprotov6.GetFunctionsResponse, error) {
	return &tfprotov6.GetFunctionsResponse{}, nil
}

func (s *server) ValidateProviderConfig(_ context.Context, q *tfprotov6.ValidateProviderConfigRequest) (
	*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: q.Config}, nil
}

func (s *server) ConfigureProvider(_ context.Context, q *tfprotov6.ConfigureProviderRequest) (
	*tfprotov6.ConfigureProviderResponse, error) {
	config, err := read(q.Config, s.schema.Provider)
	if err != nil {
		return nil, err
	}
	s.config = config
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s *server) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (
	*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (s *server) ValidateResourceConfig(_ context.Context, q *tfprotov6.ValidateResourceConfigRequest) (
	*tfprotov6.ValidateResourceConfigResponse, error) {
	config, err := read(q.Config, s.schema.resource(q.TypeName))
	if err != nil {
		return nil, err
	}
	return &tfprotov6.ValidateResourceConfigResponse{Diagnostics: validate(q.TypeName, config)}, nil
}

func (s *server) ValidateDataResourceConfig(_ context.Context, q *tfprotov6.ValidateDataResourceConfigRequest) (
	*tfprotov6.ValidateDataResourceConfigResponse, error) {
	config, err := read(q.Config, s.schema.data(q.TypeName))
	if err != nil {
		return nil, err
	}
	return &tfprotov6.ValidateDataResourceConfigResponse{Diagnostics: validate(q.TypeName, config)}, nil
}

func (s *server) UpgradeResourceState(_ context.Context, q *tfprotov6.UpgradeResourceStateRequest) (
	*tfprotov6.UpgradeResourceStateResponse, error) {
	typ := *s.schema.resource(q.TypeName).Block.object
	state, err := q.RawState.UnmarshalWithOpts(typ, tfprotov6.UnmarshalOpts{
		ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true}})
	if err != nil {
		return nil, err
	}
	upgraded, err := tfprotov6.NewDynamicValue(typ, state)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &upgraded}, err
}

func (s *server) MoveResourceState(_ context.Context, q *tfprotov6.MoveResourceStateRequest) (
	*tfprotov6.MoveResourceStateResponse, error) {
	return &tfprotov6.MoveResourceStateResponse{Diagnostics: failure("Move not supported",
		fmt.Errorf("%s cannot take the state of %s", q.TargetTypeName, q.SourceTypeName))}, nil
}

// read decodes a value of a schema. It is nil for null.
func read(v *tfprotov6.DynamicValue, schema *rootBlock) (object, error) {
	value, err := v.Unmarshal(*schema.Block.object)
	if err != nil {
		return nil, err
	}
	made, err := decode(value, *schema.Block.object)
	return asObject(made), err
}

// write encodes a value of a schema; nil is null.
func write(o object, schema *rootBlock) (*tfprotov6.DynamicValue, error) {
	var x any
	if o != nil {
		x = o
	}
	made, err := tfprotov6.NewDynamicValue(*schema.Block.object, encode(x, *schema.Block.object))
	return &made, err
}

// failure returns a diagnostic for an error, and none for nil.
func failure(summary string, err error) []*tfprotov6.Diagnostic {
	if err == nil {
		return nil
	}
	return []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: summary, Detail: err.Error()}}
}

// ReadResource returns the object of the cloud, or null if it has vanished.
func (s *server) ReadResource(ctx context.Context, q *tfprotov6.ReadResourceRequest) (
	*tfprotov6.ReadResourceResponse, error) {
	schema := s.schema.resource(q.TypeName)
	state, err := read(q.CurrentState, schema)
	if err != nil {
		return nil, err
	}
	made := &tfprotov6.ReadResourceResponse{NewState: q.CurrentState, Private: q.Private}
	if err := s.meetFaults(ctx, q.TypeName, "read"); err != nil {
		made.Diagnostics = failure("reading "+q.TypeName, err)
		return made, nil
	}
	if b := behaviors[q.TypeName]; b != nil {
		if b.exists == nil || b.exists(state) {
			return made, nil
		}
		made.NewState, err = write(nil, schema)
		return made, err
	}
	var current object
	err = s.store.update(func(t *transaction) error {
		if found := t.locate(q.TypeName, string(q.Private), state); found != nil {
			current = asObject(fromJSON(found.attributes(), *schema.Block.object))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	made.NewState, err = write(current, schema)
	return made, err
}

// ImportResourceState finds an object by its id.
func (s *server) ImportResourceState(_ context.Context, q *tfprotov6.ImportResourceStateRequest) (
	*tfprotov6.ImportResourceStateResponse, error) {
	schema := s.schema.resource(q.TypeName)
	made := &tfprotov6.ImportResourceStateResponse{}
	err := s.store.update(func(t *transaction) error {
		found := t.byID(q.TypeName, q.ID)
		if found == nil {
			made.Diagnostics = failure("Cannot import non-existent remote object",
				fmt.Errorf("the simulated cloud has no %s with the ID %q", q.TypeName, q.ID))
			return nil
		}
		state, err := write(asObject(fromJSON(maps.Clone(found.attributes()), *schema.Block.object)), schema)
		made.ImportedResources = []*tfprotov6.ImportedResource{
			{TypeName: q.TypeName, State: state, Private: []byte(found.key)}}
		return err
	})
	return made, err
}
