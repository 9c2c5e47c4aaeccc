package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// data reads a data source.
func (s *server) data(t *testing.T, typ string, given object) (object, error) {
	t.Helper()
	schema := s.schema.data(typ)
	response, err := s.ReadDataSource(context.Background(), &tfprotov6.ReadDataSourceRequest{TypeName: typ,
		Config: must(write(config(schema.Block, given), schema))})
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Diagnostics) > 0 {
		return nil, os.ErrInvalid
	}
	made := must(read(response.State, schema))
	if hasUnknown(made) {
		t.Errorf("%s has unknown values: %v", typ, made)
	}
	return made, nil
}

// create creates an object, and fails the test if that fails.
func (s *server) create(t *testing.T, typ string, given object) (*resource, object) {
	t.Helper()
	r := &resource{typ: typ}
	state, err := r.apply(t, s, given)
	if err != nil {
		t.Fatal(err)
	}
	return r, state
}

func TestRandom(t *testing.T) {
	s := newServer(t, "random", "3.7.2")
	given := object{"length": asNumber(20), "special": false, "min_numeric": asNumber(5),
		"keepers": object{"a": "a"}}
	r, one := s.create(t, "random_password", given)
	_, two := s.create(t, "random_password", given)
	text := asText(one["result"])
	if len(text) != 20 || strings.ContainsAny(text, specials) || one["result"] == two["result"] {
		t.Errorf("the passwords are %v and %v", one["result"], two["result"])
	}
	numbers := 0
	for _, c := range text {
		if strings.ContainsRune(numerals, c) {
			numbers++
		}
	}
	if numbers < 5 {
		t.Errorf("%s has %d digits", text, numbers)
	}
	given["keepers"] = object{"a": "b"}
	if planned := r.plan(t, s, given); len(planned.RequiresReplace) != 1 {
		t.Errorf("another keeper replaces %v", planned.RequiresReplace)
	}
	if _, err := (&resource{typ: "random_string"}).apply(t, s, object{"length": asNumber(2),
		"min_upper": asNumber(3)}); err == nil {
		t.Error("a text of two characters has three upper-case letters")
	}
	other := newServer(t, "random", "3.7.2")
	if _, again := other.create(t, "random_password", object{"length": asNumber(20), "special": false,
		"min_numeric": asNumber(5), "keepers": object{"a": "a"}}); again["result"] != one["result"] {
		t.Error("the first password of another cloud is different")
	}
	for typ, given := range map[string]object{
		"random_pet": {}, "random_uuid": {}, "random_id": {"byte_length": asNumber(8)},
		"random_integer": {"min": asNumber(3), "max": asNumber(5)}, "random_bytes": {"length": asNumber(4)},
		"random_shuffle": {"input": asAnys("a", "b", "c"), "result_count": asNumber(2)},
	} {
		s.create(t, typ, given)
	}
	if keys := s.store.keys(t); len(keys) > 0 {
		t.Errorf("the store has %v", keys)
	}
}

// TestCertificates makes an authority and a certificate that it signs, and verifies that.
func TestCertificates(t *testing.T) {
	s := newServer(t, "tls", "4.1.0")
	subject := []any{object{"common_name": "test"}}
	key := func(algorithm string) string {
		_, state := s.create(t, "tls_private_key", object{"algorithm": algorithm, "ecdsa_curve": "P256"})
		return asText(state["private_key_pem"])
	}
	root, leaf := key("ECDSA"), key("ED25519")
	_, authority := s.create(t, "tls_self_signed_cert", object{"private_key_pem": root, "subject": subject,
		"is_ca_certificate": true, "validity_period_hours": asNumber(12), "allowed_uses": asAnys("cert_signing")})
	_, request := s.create(t, "tls_cert_request", object{"private_key_pem": leaf, "subject": subject,
		"dns_names": asAnys("web.test"), "ip_addresses": asAnys("10.0.0.1")})
	_, signed := s.create(t, "tls_locally_signed_cert", object{"cert_request_pem": request["cert_request_pem"],
		"ca_private_key_pem": root, "ca_cert_pem": authority["cert_pem"], "validity_period_hours": asNumber(12),
		"allowed_uses": asAnys("server_auth")})
	pair, err := tls.X509KeyPair([]byte(asText(signed["cert_pem"])), []byte(leaf))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(asText(authority["cert_pem"])))
	certificate := must(x509.ParseCertificate(pair.Certificate[0]))
	if _, err := certificate.Verify(x509.VerifyOptions{DNSName: "web.test", Roots: roots}); err != nil {
		t.Error(err)
	}
	if public, err := s.data(t, "tls_public_key", object{"private_key_pem": root}); err != nil ||
		public["algorithm"] != "ECDSA" || !strings.HasPrefix(asText(public["public_key_openssh"]), "ecdsa-sha2-nistp256 ") {
		t.Errorf("the public key is %v, %v", public, err)
	}
	if _, is := must2(parseKey(root)).(*ecdsa.PrivateKey); !is {
		t.Error("the key of the authority is no ECDSA key")
	}
}

func must2[A, B any](made A, _ B, err error) A { return must(made, err) }

// TestLocalFile checks that the file is written, that a change of it is seen, and that it is removed.
func TestLocalFile(t *testing.T) {
	s := newServer(t, "local", "2.6.1")
	name := filepath.Join(t.TempDir(), "sub", "file")
	r, _ := s.create(t, "local_file", object{"filename": name, "content": "text"})
	if content, err := os.ReadFile(name); err != nil || string(content) != "text" {
		t.Errorf("the file has %q, %v", content, err)
	}
	if r.refresh(t, s) == nil {
		t.Error("the file is missing after the create")
	}
	found, err := s.data(t, "local_file", object{"filename": name})
	if err != nil || found["content"] != "text" {
		t.Errorf("the data source reads %v, %v", found, err)
	}
	if _, err := r.apply(t, s, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("after the destroy: %v", err)
	}
}

// TestPolicyDocument merges documents as the aws provider does.
func TestPolicyDocument(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	made, err := s.data(t, "aws_iam_policy_document", object{
		"source_policy_documents": asAnys(`{"Statement": {"Sid": "a", "Effect": "Allow", "Action": "s3:*", "Resource": "*"}}`,
			`{"Statement": [{"Sid": "b", "Effect": "Allow", "Action": ["x:Y"], "Resource": "*"}]}`),
		"override_policy_documents": asAnys(`{"Statement": [{"Sid": "b", "Effect": "Deny", "Action": "x:Y"}]}`),
		"statement": []any{
			object{"sid": "c", "actions": asAnys("a:A", "b:B"), "resources": asAnys("*"),
				"condition": []any{object{"test": "StringEquals", "variable": "aws:tag", "values": asAnys("v")}}},
			object{"effect": "Deny", "actions": asAnys("a:A"),
				"principals": []any{object{"type": "AWS", "identifiers": asAnys("*")}}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Version":"2012-10-17","Statement":[` +
		`{"Sid":"a","Effect":"Allow","Action":"s3:*","Resource":"*"},` +
		`{"Sid":"b","Effect":"Deny","Action":"x:Y"},` +
		`{"Sid":"c","Effect":"Allow","Action":["b:B","a:A"],"Resource":"*",` +
		`"Condition":{"StringEquals":{"aws:tag":"v"}}},` +
		`{"Effect":"Deny","Action":"a:A","Principal":{"AWS":"*"}}]}`
	if made["minified_json"] != want {
		t.Errorf("the policy is\n%s, want\n%s", made["minified_json"], want)
	}
	var parsed map[string]any
	if err := json.Unmarshal([]byte(asText(made["json"])), &parsed); err != nil {
		t.Error(err)
	}
	if _, err := s.data(t, "aws_iam_policy_document", object{"source_policy_documents": asAnys("no JSON")}); err == nil {
		t.Error("a document that is no JSON is merged")
	}
}

// TestFind finds objects by id, name, tags and filters, and makes up what nobody created, except for
// clusters.
func TestFind(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	_, vpc := s.create(t, "aws_vpc", object{"cidr_block": "10.0.0.0/16", "tags": object{"Name": "main"}})
	var private []any
	for _, visibility := range []string{"private", "private", "public"} {
		_, subnet := s.create(t, "aws_subnet", object{"vpc_id": vpc["id"], "cidr_block": "10.0.0.0/24",
			"tags": object{"visibility": visibility}})
		if visibility == "private" {
			private = append(private, subnet["id"])
		}
	}
	filter := func(pairs ...string) (made []any) {
		for i := 0; i < len(pairs); i += 2 {
			made = append(made, object{"name": pairs[i], "values": asAnys(pairs[i+1])})
		}
		return made
	}
	ids := func(given object) []any {
		t.Helper()
		return asList(must(s.data(t, "aws_subnets", given))["ids"])
	}
	both := filter("vpc-id", asText(vpc["id"]), "tag:visibility", "private")
	if got := ids(object{"filter": both}); !same(got, private) {
		t.Errorf("the private subnets are %v, want %v", got, private)
	}
	if got := ids(object{"tags": object{"visibility": "pri"}}); len(got) != 3 || slices.Contains(private, got[0]) {
		t.Errorf("subnets that nobody created are %v", got)
	}
	if got := must(s.data(t, "aws_vpc", object{"filter": filter("tag:Name", "ma*")})); got["id"] != vpc["id"] ||
		got["cidr_block"] != "10.0.0.0/16" {
		t.Errorf("the VPC is %v", got)
	}
	if got := must(s.data(t, "aws_vpc", object{"id": "vpc-1"})); got["id"] != "vpc-1" || asText(got["cidr_block"]) == "" {
		t.Errorf("a VPC that nobody created is %v", got)
	}
	if got, err := s.data(t, "aws_eks_cluster", object{"name": "one"}); err == nil {
		t.Errorf("a cluster that nobody created is %v", got)
	}
	_, cluster := s.create(t, "aws_eks_cluster", object{"name": "one", "role_arn": "arn:aws:iam::1:role/x",
		"vpc_config": []any{object{"subnet_ids": private}}})
	got := must(s.data(t, "aws_eks_cluster", object{"name": "one"}))
	if asObject(asList(cluster["vpc_config"])[0])["vpc_id"] != vpc["id"] {
		t.Errorf("the cluster is in another VPC than its subnets: %v", cluster["vpc_config"])
	}
	if got["endpoint"] != cluster["endpoint"] || !same(got["certificate_authority"], cluster["certificate_authority"]) {
		t.Errorf("the cluster is %v, want %v", got, cluster)
	}
}

// TestDefaultTags checks that tags_all is known when Terraform plans.
func TestDefaultTags(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	s.config["default_tags"] = []any{object{"tags": object{"owner": "vera", "a": "b"}}}
	r := &resource{typ: "aws_vpc"}
	planned := r.plan(t, s, object{"cidr_block": "10.0.0.0/16", "tags": object{"owner": "ada"}})
	state := must(read(planned.PlannedState, s.schema.resource("aws_vpc")))
	if !same(state["tags_all"], object{"owner": "ada", "a": "b"}) || state["id"] != unknown {
		t.Errorf("the plan has %v", state)
	}
	google := newServer(t, "google", "6.50.0")
	google.config["default_labels"] = object{"owner": "vera"}
	bucket := &resource{typ: "google_storage_bucket"}
	planned = bucket.plan(t, google, object{"name": "one", "location": "US", "labels": object{"a": "b"}})
	labels := must(read(planned.PlannedState, google.schema.resource(bucket.typ)))["effective_labels"]
	if !same(labels, object{"owner": "vera", "a": "b"}) {
		t.Errorf("the plan has the labels %v", labels)
	}

	certificate := &resource{typ: "aws_acm_certificate"}
	planned = certificate.plan(t, s, object{"domain_name": "a.test", "subject_alternative_names": asAnys("b.test")})
	options := asList(must(read(planned.PlannedState, s.schema.resource(certificate.typ)))["domain_validation_options"])
	if len(options) != 2 || asObject(options[1])["domain_name"] != "b.test" {
		t.Errorf("the plan has the options %v", options)
	}
}

// TestUpdates checks what a change of an argument does: an update, or a replacement.
func TestUpdates(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	r, before := s.create(t, "aws_launch_template", object{"name": "one", "image_id": "ami-1"})
	after, err := r.apply(t, s, object{"name": "one", "image_id": "ami-2"})
	if err != nil || after["id"] != before["id"] || after["image_id"] != "ami-2" {
		t.Errorf("the update leads to %v, %v", after, err)
	}
	if got := r.plan(t, s, object{"name": "two"}).RequiresReplace; len(got) != 1 {
		t.Errorf("another name replaces %v", got)
	}
	for name, given := range map[string]object{"an address range": {"cidr_block": "10.0.0.1/16"},
		"an ARN": {"role_arn": "role/x"}, "a policy": {"policy": "{"}} {
		if len(validate("aws_x", given)) != 1 {
			t.Errorf("%s %v is accepted", name, given)
		}
	}
}

// TestWriteOnly checks that write-only values reach neither the plan nor the state.
func TestWriteOnly(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	_, state := s.create(t, "aws_secretsmanager_secret_version", object{"secret_id": "one", "secret_string_wo": "planted",
		"secret_string_wo_version": asNumber(1)})
	if state["secret_string_wo"] != nil {
		t.Errorf("the state has %v", state)
	}
	content := must(os.ReadFile(s.store.file()))
	if strings.Contains(string(content), "planted") {
		t.Errorf("the store has the secret: %s", content)
	}
}

// TestProtection checks that what its arguments protect cannot be deleted.
func TestProtection(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	given := object{"identifier": "one", "instance_class": "db.t3.micro"}
	r, _ := s.create(t, "aws_db_instance", given)
	if _, err := r.apply(t, s, nil); err == nil || !strings.Contains(err.Error(), "final_snapshot_identifier") {
		t.Errorf("a database without a final snapshot is deleted: %v", err)
	}
	given["skip_final_snapshot"], given["deletion_protection"] = true, true
	if _, err := r.apply(t, s, given); err != nil {
		t.Fatal(err)
	}
	if _, err := r.apply(t, s, nil); err == nil || !strings.Contains(err.Error(), "deletion protection") {
		t.Errorf("a protected database is deleted: %v", err)
	}
	given["deletion_protection"] = false
	if _, err := r.apply(t, s, given); err != nil {
		t.Fatal(err)
	}
	if _, err := r.apply(t, s, nil); err != nil || len(s.store.keys(t)) > 0 {
		t.Errorf("the database cannot be deleted: %v", err)
	}
}

// TestDerivedData reads a cluster of Google by the data source that has the attributes of the resource.
func TestDerivedData(t *testing.T) {
	s := newServer(t, "google", "6.50.0")
	given := object{"name": "one", "location": "us-central1"}
	if got, err := s.data(t, "google_container_cluster", given); err == nil {
		t.Errorf("a cluster that nobody created is %v", got)
	}
	_, cluster := s.create(t, "google_container_cluster", given)
	got, err := s.data(t, "google_container_cluster", given)
	if err != nil || got["endpoint"] != cluster["endpoint"] || !same(got["master_auth"], cluster["master_auth"]) {
		t.Errorf("the cluster is %v, %v, want %v", got, err, cluster)
	}
}
