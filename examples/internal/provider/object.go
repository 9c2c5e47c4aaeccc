package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// object is the resource trouble_object.
type object struct{ service *service }

// model is a trouble_object in Terraform's form.
type model struct {
	Name   types.String            `tfsdk:"name"`
	Value  types.String            `tfsdk:"value"`
	Deaf   types.Bool              `tfsdk:"deaf"`
	Slow   map[string]types.String `tfsdk:"slow"`
	Fail   map[string]types.Int64  `tfsdk:"fail"`
	Crash  map[string]types.Int64  `tfsdk:"crash"`
	Drifts types.String            `tfsdk:"drifts_after"`
}

// traits is the decoded form of a model: the trouble that an object causes.
type traits struct {
	name, value string
	deaf        bool
	slow        map[string]time.Duration
	held        map[string]bool // the steps that take until they are interrupted
	fail, crash map[string]int64
	drifts      time.Duration // negative for never
}

func (o *object) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_object"
}

func (o *object) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	known := strings.Join(steps, ", ")
	response.Schema = schema.Schema{
		Description: "An object that gives trouble in the steps of its life: " + known + ".",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required: true, Description: "The name of its file. Another name is another object.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"value": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(""),
				Description: "What is in its file."},
			"deaf": schema.BoolAttribute{Optional: true,
				Description: "Ignore interrupts: a step that has begun is done to its end."},
			"slow": schema.MapAttribute{Optional: true, ElementType: types.StringType,
				Description: "How long each step takes, by step, such as 30s, or interrupt: until it is interrupted."},
			"fail": schema.MapAttribute{Optional: true, ElementType: types.Int64Type,
				Description: "How often each step fails before it works, by step; -1 for always."},
			"crash": schema.MapAttribute{Optional: true, ElementType: types.Int64Type,
				Description: "How often the whole provider exits in the middle of each step, by step; -1 for always."},
			"drifts_after": schema.StringAttribute{Optional: true,
				Description: "The object changes by itself when it is that old, such as 0s."},
		},
	}
}

func (o *object) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if made, ok := request.ProviderData.(*service); ok {
		o.service = made
	}
}

// plainName matches names that are safe as file names.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// ValidateConfig rejects invalid steps and durations. Unknown values are checked once they are
// known.
func (o *object) ValidateConfig(ctx context.Context, request resource.ValidateConfigRequest,
	response *resource.ValidateConfigResponse) {
	if !request.Config.Raw.IsFullyKnown() {
		return
	}
	var given model
	response.Diagnostics.Append(request.Config.Get(ctx, &given)...)
	if !response.Diagnostics.HasError() {
		read(given, &response.Diagnostics)
	}
}

// read converts a model to traits, and reports its errors.
func read(given model, found *diag.Diagnostics) traits {
	made := traits{
		name: given.Name.ValueString(), value: given.Value.ValueString(), deaf: given.Deaf.ValueBool(),
		slow: map[string]time.Duration{}, held: map[string]bool{}, drifts: -1,
		fail: map[string]int64{}, crash: map[string]int64{},
	}
	if !plainName.MatchString(made.name) {
		found.AddAttributeError(path.Root("name"), "Not a name",
			fmt.Sprintf("%q cannot name a file: use letters, digits, - and _.", made.name))
	}
	for step, text := range given.Slow {
		if made.held[step] = text.ValueString() == untilInterrupt; made.held[step] {
			continue
		}
		made.slow[step] = duration(text.ValueString(), path.Root("slow").AtMapKey(step), found)
	}
	for step, count := range given.Fail {
		made.fail[step] = count.ValueInt64()
	}
	for step, count := range given.Crash {
		made.crash[step] = count.ValueInt64()
	}
	for name, used := range map[string][]string{"slow": slices.Collect(maps.Keys(given.Slow)),
		"fail": slices.Collect(maps.Keys(given.Fail)), "crash": slices.Collect(maps.Keys(given.Crash))} {
		for _, step := range used {
			if !slices.Contains(steps, step) {
				found.AddAttributeError(path.Root(name), "No such step",
					fmt.Sprintf("%q is none of %s.", step, strings.Join(steps, ", ")))
			}
		}
	}
	if text := given.Drifts.ValueString(); text != "" {
		made.drifts = duration(text, path.Root("drifts_after"), found)
	}
	return made
}

func duration(text string, at path.Path, found *diag.Diagnostics) time.Duration {
	made, err := time.ParseDuration(text)
	if err != nil || made < 0 {
		found.AddAttributeError(at, "Not a duration", fmt.Sprintf("%q is not like 500ms or 30s.", text))
	}
	return made
}

// ModifyPlan performs the step plan. Terraform calls it in a plan, and again in an apply.
func (o *object) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest,
	response *resource.ModifyPlanResponse) {
	if o.service == nil || !request.Config.Raw.IsFullyKnown() || request.Plan.Raw.IsNull() {
		return // some values are unknown, or the object is destroyed
	}
	var wanted model
	response.Diagnostics.Append(request.Plan.Get(ctx, &wanted)...)
	if response.Diagnostics.HasError() {
		return
	}
	on := read(wanted, &response.Diagnostics)
	if len(on.slow)+len(on.fail)+len(on.crash) == 0 || response.Diagnostics.HasError() {
		return
	}
	if err := o.service.take(ctx, stepPlan, on, nil, nil); err != nil {
		response.Diagnostics.AddError("Plan", err.Error())
	}
}

// Create creates the object: half of it in the middle of the step, and all of it at the end. A
// half-created object is in no state.
func (o *object) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var wanted model
	response.Diagnostics.Append(request.Plan.Get(ctx, &wanted)...)
	if response.Diagnostics.HasError() {
		return
	}
	on := read(wanted, &response.Diagnostics)
	err := o.service.take(ctx, stepCreate, on,
		func() error { return o.service.put(on.name, half) },
		func() error { return o.service.put(on.name, on.value) })
	if err != nil {
		response.Diagnostics.AddError("Create", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, wanted)...)
}

// Read reads the object. It removes a missing object from the state.
func (o *object) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var was model
	response.Diagnostics.Append(request.State.Get(ctx, &was)...)
	if response.Diagnostics.HasError() {
		return
	}
	on := read(was, &response.Diagnostics)
	value, there := "", false
	err := o.service.take(ctx, stepRead, on, nil, func() (err error) {
		value, there, err = o.service.get(on.name, on.drifts)
		return err
	})
	switch {
	case err != nil:
		response.Diagnostics.AddError("Read", err.Error())
	case !there:
		response.State.RemoveResource(ctx)
	default:
		was.Value = types.StringValue(value)
		response.Diagnostics.Append(response.State.Set(ctx, was)...)
	}
}

// Update changes the object.
func (o *object) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var wanted model
	response.Diagnostics.Append(request.Plan.Get(ctx, &wanted)...)
	if response.Diagnostics.HasError() {
		return
	}
	on := read(wanted, &response.Diagnostics)
	if err := o.service.take(ctx, stepUpdate, on, nil, func() error {
		return o.service.put(on.name,
			on.value)
	}); err != nil {
		response.Diagnostics.AddError("Update", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, wanted)...)
}

// Delete removes the object, with the trouble that was configured at its last apply.
func (o *object) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var was model
	response.Diagnostics.Append(request.State.Get(ctx, &was)...)
	if response.Diagnostics.HasError() {
		return
	}
	on := read(was, &response.Diagnostics)
	if err := o.service.take(ctx, stepDelete, on, nil, func() error { return o.service.remove(on.name) }); err != nil {
		response.Diagnostics.AddError("Delete", err.Error())
	}
}
