// Checks CloudFormation templates against the published resource specification: types of resources, names and simple
// types of properties, required properties, and attributes that Fn::GetAtt reads.
// usage: NODE_PATH=…/node_modules node check.cjs TEMPLATE…
const fs = require('fs');
const { loadAwsServiceSpecSync } = require('@aws-cdk/aws-service-spec');

const specification = loadAwsServiceSpecSync();
const known = new Map([...specification.all('resource')].map((r) => [r.cloudFormationType, r]));
const problems = [];

// computed reports whether a value is known only when the stack is created.
function computed(value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  return keys.length === 1 && (keys[0] === 'Ref' || keys[0].startsWith('Fn::'));
}

const scalars = {
  string: (v) => typeof v === 'string',
  number: (v) => typeof v !== 'object' && v !== '' && !Number.isNaN(Number(v)),
  integer: (v) => Number.isInteger(Number(v)),
  boolean: (v) => [true, false, 'true', 'false'].includes(v),
};

function checkValue(value, type, path) {
  if (value === undefined || computed(value)) {
    if (computed(value) && value['Fn::If']) value['Fn::If'].slice(1).forEach((v) => checkValue(v, type, path));
    return;
  }
  if (scalars[type.type]) {
    if (!scalars[type.type](value)) problems.push(`${path}: ${JSON.stringify(value)} is no ${type.type}`);
  } else if (type.type === 'array') {
    if (!Array.isArray(value)) problems.push(`${path}: is no list`);
    else value.forEach((v, i) => checkValue(v, type.element, `${path}[${i}]`));
  } else if (type.type === 'map') {
    for (const [key, v] of Object.entries(value)) checkValue(v, type.element, `${path}.${key}`);
  } else if (type.type === 'ref') {
    checkProperties(value, specification.get('typeDefinition', type.reference.$ref).properties, path);
  }
}

function checkProperties(value, properties, path) {
  if (typeof value !== 'object') return problems.push(`${path}: is no object`);
  for (const [name, v] of Object.entries(value)) {
    if (properties[name]) checkValue(v, properties[name].type, `${path}.${name}`);
    else problems.push(`${path}: has no property ${name}`);
  }
  for (const [name, p] of Object.entries(properties)) {
    if (p.required && !(name in value)) problems.push(`${path}: ${name} is missing`);
  }
  return undefined;
}

// checkAttributes checks all Fn::GetAtt below a value.
function checkAttributes(value, resources) {
  if (value === null || typeof value !== 'object') return;
  const read = value['Fn::GetAtt'];
  if (read) {
    const type = (resources[read[0]] || {}).Type;
    const attributes = (known.get(type) || {}).attributes || {};
    const nested = type === 'AWS::CloudFormation::Stack' && read[1].startsWith('Outputs.');
    if (!nested && !attributes[read[1]]) problems.push(`${read.join('.')}: ${type} has no such attribute`);
  }
  Object.values(value).forEach((v) => checkAttributes(v, resources));
}

for (const file of process.argv.slice(2)) {
  const template = JSON.parse(fs.readFileSync(file, 'utf8'));
  for (const [id, resource] of Object.entries(template.Resources)) {
    const type = known.get(resource.Type);
    if (resource.Type === 'AWS::CloudFormation::CustomResource') {
      if (!resource.Properties.ServiceToken) problems.push(`${file}: ${id}: ServiceToken is missing`); // the rest is its own
    } else if (type) checkProperties(resource.Properties, type.properties, `${file}: ${id} (${resource.Type})`);
    else problems.push(`${file}: ${id}: there is no type ${resource.Type}`);
  }
  checkAttributes(template, template.Resources);
}
problems.forEach((p) => console.log(p));
console.log(`${known.size} types known`);
process.exit(problems.length ? 1 : 0);
