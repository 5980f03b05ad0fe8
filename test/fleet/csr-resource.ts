import { badRequest, type FieldProblem, forbidden, invalid } from './api-error.ts';
import { isNode, requireApprover, type User } from './authorization.ts';
import {
  type CertificationRequest,
  parseCertificationRequest,
  verifyCertificationRequest,
} from './certification-request.ts';
import { type CsrCondition, kubernetesTime, type StoredCsr } from './kube-object.ts';
import { type Body, metadataOf, type Resource } from './resources.ts';

/** certificates.k8s.io/v1 certificatesigningrequests, with the admission plugins that guard them. */
export const certificateSigningRequests: Resource<StoredCsr> = {
  group: 'certificates.k8s.io',
  versions: ['v1'],
  plural: 'certificatesigningrequests',
  kind: 'CertificateSigningRequest',
  namespaced: false,
  subresources: ['approval'],
  custom: false,
  fields: ['metadata.name', 'spec.signerName'],

  create(body, name, { user }) {
    const wanted = decodeSpec(body);
    const reading = read(wanted);
    admitNode(user, wanted, reading, name);
    const problems = specProblems(wanted, reading, name);
    if (problems.length > 0) throw invalid(certificateSigningRequests, name, problems);
    return { metadata: metadataOf(body), spec: { ...wanted, username: user.name, groups: user.groups }, status: {} };
  },

  update({ metadata, spec, status }, body, subresource, { user, rules, now }) {
    // Outside of creation nobody changes spec or status here; the signer has its own way.
    if (subresource !== 'approval') return { metadata: metadataOf(body), spec, status };

    const conditions = withTimes(decodeConditions(body), status.conditions ?? [], now);
    const problems = conditionProblems(conditions, status.conditions ?? []);
    if (problems.length > 0) throw invalid(certificateSigningRequests, metadata.name, problems);
    requireApprover(user, rules, certificateSigningRequests, { name: metadata.name, signerName: spec.signerName });
    const decided = conditions.length === 0 ? {} : { conditions };
    return { metadata: metadataOf(body), spec, status: { ...withoutConditions(status), ...decided } };
  },
};

type WantedSpec = Omit<StoredCsr['spec'], 'username' | 'groups'>;

const KUBELET_SIGNERS = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];

/** pkg/apis/certificates/types.go */
const KEY_USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

/** What the client may say; username, groups and what is unknown are dropped. */
function decodeSpec({ spec = {} }: Body): WantedSpec {
  const { request = '', signerName = '', usages = [], expirationSeconds } = spec;
  if (typeof request !== 'string' || !/^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$/.test(request)) {
    throw cannotDecode('illegal base64 data at input byte 0');
  }
  if (typeof signerName !== 'string') throw cannotDecode('json: cannot unmarshal spec.signerName of type string');
  if (!Array.isArray(usages) || usages.some((usage) => typeof usage !== 'string')) {
    throw cannotDecode('json: cannot unmarshal spec.usages of type []v1.KeyUsage');
  }
  if (expirationSeconds !== undefined && !Number.isInteger(expirationSeconds)) {
    throw cannotDecode('json: cannot unmarshal spec.expirationSeconds of type int32');
  }
  return { request, signerName, ...(expirationSeconds === undefined ? {} : { expirationSeconds }), usages };
}

function decodeConditions({ status }: Body): readonly CsrCondition[] {
  const conditions: unknown = status?.conditions ?? [];
  if (!Array.isArray(conditions)) {
    throw cannotDecode('json: cannot unmarshal status.conditions of type []v1.CertificateSigningRequestCondition');
  }
  return conditions.map((condition: Partial<CsrCondition>) => {
    const { type = '', status: value = '', reason, message, lastUpdateTime, lastTransitionTime } = condition;
    for (const time of [lastUpdateTime, lastTransitionTime]) {
      if (time !== undefined && Number.isNaN(Date.parse(time))) throw cannotDecode(`parsing time "${time}"`);
    }
    return {
      type,
      status: value,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      ...(lastUpdateTime === undefined ? {} : { lastUpdateTime }),
      ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    };
  });
}

function cannotDecode(why: string): Error {
  return badRequest(
    `CertificateSigningRequest in version "v1" cannot be handled as a CertificateSigningRequest: ${why}`,
  );
}

/** What is in `spec.request`, or why it cannot be read. */
type Reading =
  | { readonly parsed: CertificationRequest; readonly problem?: never }
  | { readonly parsed?: never; readonly problem: string };

function read({ request }: WantedSpec): Reading {
  try {
    return { parsed: parseCertificationRequest(pemOf(request)) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function signatureProblem(request: string): string | undefined {
  try {
    verifyCertificationRequest(pemOf(request));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The admission plugin NodeRestriction: a node asks the kubelet signers for nothing but its own identity. */
function admitNode(user: User, { signerName }: WantedSpec, reading: Reading, name: string): void {
  if (!isNode(user) || !KUBELET_SIGNERS.includes(signerName)) return;
  if (reading.problem !== undefined) {
    throw forbidden(certificateSigningRequests, name, `unable to parse csr: ${reading.problem}`);
  }
  if (reading.parsed.commonName !== user.name) {
    throw forbidden(certificateSigningRequests, name, `can only create a node CSR with CN=${user.name}`);
  }
}

/** pkg/apis/certificates/validation, ValidateCertificateSigningRequestCreate */
function specProblems(
  { request, signerName, usages, expirationSeconds }: WantedSpec,
  reading: Reading,
  name: string,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (reason: FieldProblem['reason'], field: string, message: string): void => {
    problems.push({ reason, field, message });
  };
  if (name === '') add('FieldValueRequired', 'metadata.name', 'Required value: name or generateName is required');
  const problem = reading.problem ?? signatureProblem(request);
  if (problem !== undefined) add('FieldValueInvalid', 'spec.request', `Invalid value: "${request}": ${problem}`);
  if (usages.length === 0) add('FieldValueRequired', 'spec.usages', 'Required value');
  for (const [index, usage] of usages.entries()) {
    const field = `spec.usages[${index}]`;
    if (!KEY_USAGES.includes(usage)) add('FieldValueNotSupported', field, unsupported(usage, KEY_USAGES));
    else if (usages.indexOf(usage) < index) add('FieldValueDuplicate', field, `Duplicate value: "${usage}"`);
  }
  if (signerName === '') {
    add('FieldValueRequired', 'spec.signerName', 'Required value');
  } else if (signerName === 'kubernetes.io/legacy-unknown') {
    const why = 'the legacy signerName is not allowed via this API version';
    add('FieldValueInvalid', 'spec.signerName', `Invalid value: "${signerName}": ${why}`);
  } else if (!/^[a-z0-9.-]+\.[a-z0-9.-]+\/[A-Za-z0-9._-]+$/.test(signerName)) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    add('FieldValueInvalid', 'spec.signerName', `Invalid value: "${signerName}": ${why}`);
  }
  if (expirationSeconds !== undefined && expirationSeconds < 600) {
    const why = 'may not specify a duration less than 600 seconds (10 minutes)';
    add('FieldValueInvalid', 'spec.expirationSeconds', `Invalid value: ${expirationSeconds}: ${why}`);
  }
  return problems;
}

const DECISIONS = ['Approved', 'Denied', 'Failed'];

/** pkg/apis/certificates/validation, validateConditions and ValidateCertificateSigningRequestApprovalUpdate */
function conditionProblems(conditions: readonly CsrCondition[], old: readonly CsrCondition[]): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (reason: FieldProblem['reason'], field: string, message: string): void => {
    problems.push({ reason, field, message });
  };
  for (const [index, { type, status }] of conditions.entries()) {
    const field = `status.conditions[${index}]`;
    const before = conditions.slice(0, index).map((condition) => condition.type);
    if (type === '') add('FieldValueRequired', `${field}.type`, 'Required value');
    const allowed = DECISIONS.includes(type) ? ['True'] : ['True', 'False', 'Unknown'];
    if (status === '') add('FieldValueRequired', `${field}.status`, 'Required value');
    else if (!allowed.includes(status)) add('FieldValueNotSupported', `${field}.status`, unsupported(status, allowed));
    const opposite = { Approved: 'Denied', Denied: 'Approved' }[type];
    if (opposite !== undefined && before.includes(opposite)) {
      const both = ['Approved', 'Denied'].map((one) => `conditions[{"type": "${one}"}]`);
      const why = `must specify at most one of: ${both.map((one) => `\`${one}\``).join(', ')}`;
      add('FieldValueInvalid', 'status.conditions', `Invalid value: ${JSON.stringify(`{${both.join(', ')}}`)}: ${why}`);
    }
    if (before.includes(type)) add('FieldValueDuplicate', `${field}.type`, `Duplicate value: "${type}"`);
  }
  for (const { type } of old) {
    if (!DECISIONS.includes(type) || conditions.some((condition) => condition.type === type)) continue;
    const message = `Forbidden: updates may not remove a condition of type "${type}"`;
    add('FieldValueForbidden', 'status.conditions', message);
  }
  return problems;
}

/** pkg/registry/certificates/certificates/strategy.go, populateConditionTimestamps */
function withTimes(conditions: readonly CsrCondition[], old: readonly CsrCondition[], now: number): CsrCondition[] {
  const time = kubernetesTime(now);
  return conditions.map((condition) => {
    const same = old.find(({ type, status }) => type === condition.type && status === condition.status);
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? time,
      lastTransitionTime: condition.lastTransitionTime ?? same?.lastTransitionTime ?? time,
    };
  });
}

function withoutConditions({ certificate }: StoredCsr['status']): StoredCsr['status'] {
  return certificate === undefined ? {} : { certificate };
}

function unsupported(value: string, supported: readonly string[]): string {
  return `Unsupported value: "${value}": supported values: ${supported.map((one) => `"${one}"`).join(', ')}`;
}

function pemOf(request: string): string {
  return Buffer.from(request, 'base64').toString('latin1');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
