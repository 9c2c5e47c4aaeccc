package diff_test

import (
	"encoding/json"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
)

// TestLooksSecret checks outputs of stacks that are secrets, and those that only look like the address of one.
func TestLooksSecret(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"db_password", `"hunter2-hunter2"`, true},
		{"openai_api_key", `"sk-4fj38fj3849fj348fj3"`, true},
		{"note", `"ghp_16C7e42F292c6912E7710c838347Ae178B4a"`, true},
		{"key", `"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n-----END PRIVATE KEY-----\n"`, true},
		{"db", `{"url": "postgres://app:Xk39dkf93kd@db.example:5432/app"}`, true},
		{"db", `{"password": "Xk39dkf93kd"}`, true},
		{"list", `[{"token": "Xk39dkf93kdXk39dkf93kd"}]`, true},

		{"openai_api_key_arn", `"arn:aws:secretsmanager:us-east-1:111122223333:secret:openai-AbCdEf"`, false},
		{"vpc_id", `"vpc-0a1b2c3d4e5f67890"`, false},
		{"account_id", `"111122223333"`, false},
		{"public_subnets", `["subnet-0a1b2c3d4e5f67890", "subnet-0a1b2c3d4e5f67891"]`, false},
		{"runner_iam_role_arn", `"arn:aws:iam::111122223333:role/ins_0123456789abcdefghijklmnop-runner"`, false},
		{"custom_role_arns", `{"ins_0123-whoami-deploy": "arn:aws:iam::111122223333:role/whoami"}`, false},
		{"key_vault_id", `"/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/a/providers/x/vaults/v"`, false},
		{"key_vault_name", `"nuon-vault"`, false},
		{"gke_node_pool_sa_email", `"pool@project.iam.gserviceaccount.com"`, false},
		{"enabled", `true`, false},
		{"replicas", `3`, false},
	} {
		var value any
		if err := json.Unmarshal([]byte(test.value), &value); err != nil {
			t.Fatal(err)
		}
		if got := diff.LooksSecret(test.name, value); got != test.want {
			t.Errorf("LooksSecret(%s, %s) = %t", test.name, test.value, got)
		}
	}
}
