package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// varDirectory names the directory if the provider's configuration does not.
const varDirectory = "TROUBLE_DIRECTORY"

// trouble is the provider.
type trouble struct{}

func (trouble) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName = "trouble"
}

func (trouble) Schema(_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "Objects that give trouble on purpose.",
		Attributes: map[string]schema.Attribute{
			"directory": schema.StringAttribute{Optional: true,
				Description: "Where the objects lie, absolute. Left out, the variable " + varDirectory + "."},
		},
	}
}

func (trouble) Configure(ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	var directory types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("directory"), &directory)...)
	if response.Diagnostics.HasError() {
		return
	}
	named := directory.ValueString()
	if named == "" {
		named = os.Getenv(varDirectory)
	}
	if !filepath.IsAbs(named) {
		response.Diagnostics.AddAttributeError(path.Root("directory"), "No directory",
			"Set directory, or the variable "+varDirectory+", to an absolute path.")
		return
	}
	response.ResourceData = &service{directory: named}
}

func (trouble) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (trouble) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &object{} }}
}
