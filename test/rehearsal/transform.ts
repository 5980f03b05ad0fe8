/** A CloudFormation template, as far as the transform looks at it. */
export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown }>>;
  readonly [section: string]: unknown;
}

export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
  readonly DeletionPolicy?: string;
  readonly [attribute: string]: unknown;
}

/** A resource that the emulator refuses. */
export interface LeftOut {
  readonly logicalId: string;
  readonly type: string;
  /** In one clause: why it was left out. */
  readonly reason: string;
  /** Its properties. Where one is not literal, `{ Output: name }` stands for the output that has its value after the deployment. */
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface Transformed {
  readonly template: Template;
  readonly leftOut: readonly LeftOut[];
}

/**
 * Takes out of a template what MiniStack 1.5.33 cannot make, and nothing else:
 *
 * - every type that its CloudFormation does not know; at this time that is AWS::CloudWatch::CompositeAlarm, AWS::EKS::AccessEntry and
 *   AWS::Logs::QueryDefinition. One of them, and the whole template is refused.
 * - an AWS::CloudWatch::Alarm with `Metrics` (metric math, Metrics Insights): the stack rolls back. A composite alarm, which is made through the API, then asks for
 *   the others only.
 *
 * Statements of bucket policies that ask for `s3:if-none-match` are taken away: the emulator does not fill it in, and would refuse every write (the conditional writes themselves it knows).
 *
 * `aws:PrincipalArn` of a function is the ARN of its role; in the emulator, of its session, which is named after the function as in AWS. So sessions of a role take the place of the role, and for
 * `lambda:SourceFunctionArn`, which the emulator does not know, that of the session of the function. Source: IAM User Guide, "AWS global condition context keys".
 *
 * A `Ref` of a secret becomes its attribute `Id`: both are its ARN (CloudFormation, AWS::SecretsManager::Secret, Return values), but the emulator makes its name of the first.
 *
 * Each function loads eks-on-loopback.ts first: the API servers of the emulated EKS clusters are on this machine.
 *
 * What is computed in the properties of a resource that was taken out becomes an output, so that the resource can be created
 * through the API with the very values that CloudFormation would have given it.
 *
 * @param supported the types that the emulator knows
 * @throws Error when something that stays refers to what is left out: then the rehearsal would not be of this app any more.
 */
export function transform(template: Template, supported: ReadonlySet<string>): Transformed {
  const kept: Record<string, TemplateResource> = {};
  const leftOut: LeftOut[] = [];
  const outputs: Record<string, { readonly Value: unknown }> = {};
  for (const [logicalId, resource] of Object.entries(template.Resources)) {
    const reason = refusal(resource, supported);
    if (reason === undefined) kept[logicalId] = withLoopback(withSessionArns(withoutIfNoneMatch(resource)));
    else {
      const properties = withOutputs(resource.Properties ?? {}, (value) => {
        const name = `${logicalId}Property${Object.keys(outputs).length}`;
        outputs[name] = { Value: value };
        return { Output: name };
      });
      leftOut.push({ logicalId, type: resource.Type, reason, properties });
    }
  }
  const gone = new Set(leftOut.map(({ logicalId }) => logicalId));
  const Resources = Object.fromEntries(
    Object.entries(kept).map(([logicalId, resource]) => [logicalId, withoutDependencies(resource, gone)]),
  );
  const Outputs = { ...template.Outputs, ...outputs };
  const stays = withSecretArns({ ...template, Resources, Outputs });
  for (const logicalId of gone)
    if (refersTo(stays, logicalId))
      throw new Error(`the template refers to ${logicalId}, which the emulator cannot make: nothing may depend on it`);
  return { template: stays, leftOut };
}

function refusal({ Type, Properties }: TemplateResource, supported: ReadonlySet<string>): string | undefined {
  if (Type.startsWith('Custom::') || Type === 'AWS::CDK::Metadata') return undefined;
  if (!supported.has(Type)) return 'the emulator does not know the type';
  if (Type === 'AWS::CloudWatch::Alarm' && Properties?.['Metrics'] !== undefined)
    return 'the emulator does not evaluate metric expressions';
  return undefined;
}

function withoutIfNoneMatch(resource: TemplateResource): TemplateResource {
  const document = resource.Properties?.['PolicyDocument'];
  if (resource.Type !== 'AWS::S3::BucketPolicy' || !isRecord(document) || !Array.isArray(document['Statement']))
    return resource;
  const Statement = document['Statement'].filter(
    (statement: unknown) => !JSON.stringify(statement).includes('"s3:if-none-match"'),
  );
  return { ...resource, Properties: { ...resource.Properties, PolicyDocument: { ...document, Statement } } };
}

function withSessionArns(resource: TemplateResource): TemplateResource {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (key === 'aws:PrincipalArn') return [key, [inner].flat().map(sessionsOf)];
        if (key === 'lambda:SourceFunctionArn') return ['aws:PrincipalArn', [inner].flat().map(sessionOf)];
        return [key, visit(inner)];
      }),
    );
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only conditions in it are others
  return visit(resource) as TemplateResource;
}

/** `arn:aws:iam::A:role/NAME` → `arn:aws:sts::A:assumed-role/NAME/*`, whatever the ARN is computed from. */
function sessionsOf(arn: unknown): unknown {
  const replaced = (text: unknown, from: string, to: string) => ({ 'Fn::Join': [to, { 'Fn::Split': [from, text] }] });
  const session = replaced(replaced(arn, ':iam:', ':sts:'), ':role/', ':assumed-role/');
  return { 'Fn::Join': ['', [session, '/*']] };
}

// `arn:aws:lambda:R:A:function:NAME` → `arn:aws:sts::*:assumed-role/*/NAME`: the statement is of one role.
function sessionOf(arn: unknown): unknown {
  const name = { 'Fn::Select': [6, { 'Fn::Split': [':', arn] }] };
  return { 'Fn::Join': ['', ['arn:aws:sts::*:assumed-role/*/', name]] };
}

function withSecretArns(template: Template): Template {
  const isSecret = (id: unknown): boolean => template.Resources[String(id)]?.Type === 'AWS::SecretsManager::Secret';
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isRecord(value)) return value;
    if (isSecret(value['Ref'])) return { 'Fn::GetAtt': [value['Ref'], 'Id'] };
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner)]));
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only references in it are others
  return visit(template) as Template;
}

const LOOPBACK = `--import=${new URL('eks-on-loopback.ts', import.meta.url).href}`;

function withLoopback(resource: TemplateResource): TemplateResource {
  const environment = resource.Properties?.['Environment'];
  const variables = isRecord(environment) ? environment['Variables'] : undefined;
  if (resource.Type !== 'AWS::Lambda::Function' || !isRecord(variables)) return resource;
  const Variables = { ...variables, NODE_OPTIONS: LOOPBACK };
  return { ...resource, Properties: { ...resource.Properties, Environment: { Variables } } };
}

/** Literals stay; every intrinsic function is given to `toOutput`. */
function withOutputs(
  properties: Readonly<Record<string, unknown>>,
  toOutput: (value: unknown) => unknown,
): Readonly<Record<string, unknown>> {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isRecord(value)) return value;
    return isIntrinsic(value)
      ? toOutput(value)
      : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner)]));
  };
  return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, visit(value)]));
}

function isIntrinsic(value: Readonly<Record<string, unknown>>): boolean {
  const [key, ...others] = Object.keys(value);
  return key !== undefined && others.length === 0 && (key === 'Ref' || key.startsWith('Fn::'));
}

function withoutDependencies(resource: TemplateResource, gone: ReadonlySet<string>): TemplateResource {
  if (resource.DependsOn === undefined) return resource;
  const { DependsOn, ...rest } = resource;
  const left = [DependsOn].flat().filter((logicalId) => !gone.has(logicalId));
  return left.length === 0 ? rest : { ...rest, DependsOn: left };
}

/** `Ref`, `Fn::GetAtt` as a list or with a dot, or a `${…}` of `Fn::Sub`. */
function refersTo(value: unknown, logicalId: string): boolean {
  if (Array.isArray(value)) return value.some((entry) => refersTo(entry, logicalId));
  if (!isRecord(value)) return false;
  return Object.entries(value).some(([key, inner]) => {
    if (key === 'Ref' && inner === logicalId) return true;
    if (key === 'Fn::GetAtt' && String(Array.isArray(inner) ? inner[0] : inner).split('.')[0] === logicalId)
      return true;
    if (key === 'Fn::Sub') {
      const text = String(Array.isArray(inner) ? inner[0] : inner);
      if (text.includes(`\${${logicalId}}`) || text.includes(`\${${logicalId}.`)) return true;
    }
    return refersTo(inner, logicalId);
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
