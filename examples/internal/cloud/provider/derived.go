package main

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// derivedData are data sources that have the attributes of their resource, and only arguments to find
// it by: the required ones, and after a semicolon the optional ones.
var derivedData = map[string]string{
	"aws_db_subnet_group":       "name",
	"aws_dynamodb_table":        "name",
	"aws_ecr_repository":        "name; registry_id",
	"aws_iam_instance_profile":  "name",
	"aws_kms_alias":             "name",
	"aws_launch_template":       "; id name tags",
	"aws_lb":                    "; arn name tags",
	"aws_lb_target_group":       "; arn name tags",
	"aws_secretsmanager_secret": "; arn name tags",
	"aws_sqs_queue":             "name; tags",

	"google_artifact_registry_repository": "location repository_id; project",
	"google_cloud_run_v2_service":         "name; location project",
	"google_compute_global_address":       "name; project",
	"google_compute_instance":             "; name project zone self_link",
	"google_compute_subnetwork":           "; name project region self_link",
	"google_container_cluster":            "name; location project",
	"google_dns_managed_zone":             "name; project",
	"google_service_account":              "account_id; project",
	"google_sql_database_instance":        "name; project",

	"azurerm_container_app_environment": "name resource_group_name",
	"azurerm_container_registry":        "name resource_group_name",
	"azurerm_dns_zone":                  "name; resource_group_name",
	"azurerm_kubernetes_cluster":        "name resource_group_name",
	"azurerm_network_security_group":    "name resource_group_name",
	"azurerm_private_dns_zone":          "name; resource_group_name",
	"azurerm_public_ip":                 "name resource_group_name",
}

// resource returns the schema of a resource type, or nil if there is none.
func (f *schemaFile) resource(typ string) *rootBlock { return f.Resources.get(typ) }

// data returns the schema of a data source, or nil if there is none.
func (f *schemaFile) data(typ string) *rootBlock {
	if found := f.Data.get(typ); found != nil {
		return found
	}
	arguments, derived := derivedData[typ]
	resource := f.resource(typ)
	if !derived || resource == nil {
		return nil
	}
	required, optional, _ := strings.Cut(arguments, ";")
	return &rootBlock{Block: resource.Block.derive(strings.Fields(required), strings.Fields(optional))}
}

// dataNames returns the names of all data sources, sorted.
func (f *schemaFile) dataNames() []string {
	names := f.Data.names()
	for typ := range derivedData {
		if f.Resources.texts[typ] != nil && f.Data.texts[typ] == nil {
			names = append(names, typ)
		}
	}
	slices.Sort(names)
	return names
}

// derive returns a block whose attributes are computed, apart from the arguments. Blocks become
// attributes.
func (b *block) derive(required, optional []string) *block {
	made := &block{Attributes: map[string]*attribute{}, object: &tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}}
	add := func(name string, typ tftypes.Type, sensitive bool) {
		isRequired := slices.Contains(required, name)
		made.Attributes[name] = &attribute{parsed: typ, Sensitive: sensitive, Required: isRequired, Computed: !isRequired,
			Optional: slices.Contains(optional, name)}
		made.object.AttributeTypes[name] = typ
	}
	for name, a := range b.Attributes {
		if !a.WriteOnly {
			add(name, a.parsed, a.Sensitive)
		}
	}
	for name, n := range b.Blocks {
		if name != "timeouts" {
			add(name, nest(n.Mode, *n.Block.object), false)
		}
	}
	return made
}
