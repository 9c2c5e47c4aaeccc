package cloudformation

// generatedLength is the length of generated secrets.
const generatedLength = 63

// addSecrets adds the secrets of the app: generated, or entered by the customer.
func (t *template) addSecrets() {
	var names []string
	for _, s := range t.stack.Secrets {
		id, path := "Secret"+s.ID, s.Name+"_arn"
		if s.CustomerManaged {
			parameter := t.addParameter(id+"Arn", s.Label, s.Description+" (ARN of a secret that you have)",
				object{"AllowedPattern": `^arn:[A-Za-z0-9:/_+=.@!-]+$`})
			names = append(names, parameter)
			t.addOutput(path, ref(parameter), "")
			continue
		}
		properties := object{"Name": t.stack.Install.ID + "/" + s.Name, "Description": s.Description, "Tags": t.tags()}
		resource := t.addResource(id, "AWS::SecretsManager::Secret", properties)
		condition := ""
		if s.Generated {
			properties["GenerateSecretString"] = object{"PasswordLength": generatedLength, "ExcludePunctuation": true}
		} else {
			given := object{"NoEcho": true}
			if s.Required {
				given["MinLength"] = 1
			} else {
				given["Default"] = ""
				condition = "Has" + id
				t.conditions[condition] = not(equals(ref(id+"Value"), ""))
				resource["Condition"] = condition
			}
			names = append(names, t.addParameter(id+"Value", s.Label, s.Description, given))
			properties["SecretString"] = ref(id + "Value")
		}
		t.addOutput(path, ref(id), condition)
	}
	t.addGroup("Secrets", names)
}
