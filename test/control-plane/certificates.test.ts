import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeBundle, pemCertificates } from '../../lambdas/x509/certificate-bundle.ts';
import { decodeCertificate } from '../../lambdas/x509/decode-certificate.ts';
import { runs } from '../runs.ts';
import { certificateInputs, pemInputs } from '../unit/x509/certificate-inputs.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { type Oracle, startOracle } from './oracle.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const real = await realComponents('agreement with the certificates that Go reads', 'oracle');
const RUNS = runs(12_000);

/** Differences that are meant: numbers of a key, URIs, and inner forms of extensions that no issuer gets wrong, see go-refusal.ts. */
const GO_ONLY =
  /point not on curve|not a positive number|cannot parse URI|(?:name|policy|dnsName|IP) constraint|critical extension 2\.5\.29\.(?:17|30)$|invalid (?:authority info access|CRL distribution points?|certificate policies|key usage|basic constraints|RSA (?:public exponent|modulus))$/;
/** Go reads on behind these, and ignores the rest, or reads more; no issuer writes them. */
const HERE_ONLY =
  /tag 0xa3 expected|an RDN without attributes|follow its last element|extensions: version \d has none|65536 allowed/;

describe.skipIf(real.missing)('certificates as Go reads them', () => {
  let oracle: Oracle;
  beforeAll(() => {
    oracle = startOracle(real.binaries.oracle);
  });
  afterAll(() => oracle?.stop());

  it(`of ${RUNS} in DER`, async () => {
    const inputs = [...certificateInputs(RUNS)];
    const answers = await oracle.judge(
      inputs.map((der, index) => ({ id: `${index}`, certificate: der.toString('base64') })),
    );
    const counts = { accepted: 0, refused: 0, broken: 0 };
    const disputed = new Map<string, number>();
    for (const [index, { parsed, parseError = '' }] of answers.entries()) {
      const decoded = decodeCertificate(inputs[index]!);
      const state = decoded.ok ? (decoded.certificate.refused === undefined ? 'accepted' : 'refused') : 'broken';
      counts[state] += 1;
      if ((state === 'accepted') === parsed) continue;
      if (state === 'accepted' ? GO_ONLY.test(parseError) : !decoded.ok && HERE_ONLY.test(decoded.problem)) continue;
      const why = `${state} here: ${decoded.ok ? decoded.certificate.refused : decoded.problem}; Go: ${parseError}`;
      disputed.set(why, (disputed.get(why) ?? 0) + 1);
    }
    expect({ counts, disputed: [...disputed].toSorted(([, a], [, b]) => b - a).slice(0, 40) }).toEqual({
      counts,
      disputed: [],
    });
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(RUNS / 50);
  }, 300_000);

  it(`of ${RUNS} in PEM`, async () => {
    const inputs = [...pemInputs(RUNS)];
    const answers = await oracle.judge(
      inputs.map((text, index) => ({ id: `${index}`, bundle: Buffer.from(text, 'latin1').toString('base64') })),
    );
    const disputed: unknown[] = [];
    let [usable, skipped] = [0, 0];
    for (const [index, { blocks, parsed }] of answers.entries()) {
      const text = inputs[index]!;
      const { certificates, problem } = decodeBundle(text);
      const isUsable = certificates.some((one) => one.ok && one.certificate.refused === undefined);
      if (parsed) usable += 1;
      if (problem !== undefined) skipped += 1;
      const ours = [...pemCertificates(text)].map((bytes) => hash('sha256', bytes));
      if (JSON.stringify(ours) !== JSON.stringify(blocks) || isUsable !== parsed)
        disputed.push({ text, ours, blocks, isUsable, parsed });
    }
    expect({ usable, skipped, disputed: disputed.slice(0, 3) }).toEqual({ usable, skipped, disputed: [] });
    expect(Math.min(usable, skipped)).toBeGreaterThan(RUNS / 10);
  }, 300_000);
});

/** What people put into a `caBundle`; whether its webhook can be called. */
const FORMS: readonly (readonly [string, (pem: string) => string, boolean])[] = [
  ['PEM', (text) => text, true],
  ['CRLF', (text) => text.replaceAll('\n', '\r\n'), true],
  ['CR', (text) => text.replaceAll('\n', '\r'), false],
  ['text around it', (text) => `# old: x\n${text}trailing`, true],
  ['indented base64', (text) => text.replaceAll(/\n(?=[A-Za-z0-9+/=]+\n)/g, '\n  '), true],
  ['glued together', (text) => text.trimEnd() + text, false],
  ['one line', (text) => text.replaceAll('\n', ''), false],
  ['a byte order mark', (text) => `\xef\xbb\xbf${text}`, false],
  ['a byte order mark, then another one', (text) => `\xef\xbb\xbf${text}${text}`, true],
  ['a space before BEGIN', (text) => ` ${text}`, false],
  ['a header', (text) => text.replace('\n', '\na: b\n\n'), false],
  ['a TRUSTED CERTIFICATE', (text) => text.replaceAll(' CERT', ' TRUSTED CERT'), false],
  ['DER', (text) => Buffer.from(text.replaceAll(/-----.*-----|\s/g, ''), 'base64').toString('latin1'), false],
  ['base64 of DER', (text) => text.replaceAll(/-----.*-----\n/g, ''), false],
  ['base64 of PEM', (text) => Buffer.from(text).toString('base64'), false],
];

const server = await realComponents('caBundles of a real kube-apiserver', 'etcd', 'kubeApiserver');

describe.skipIf(server.missing)('a caBundle', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: server.binaries, controllerManager: false });
    admin = connectAdmin(controlPlane);
    await admin.post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'forms' },
      webhooks: FORMS.map(([, write], index) => ({
        name: `f${index}.example.com`,
        // Nobody listens there: with a bundle that it reads, the API server says that.
        clientConfig: { url: 'https://127.0.0.1:1/', caBundle: bundleOf(write).toString('base64') },
        objectSelector: { matchLabels: { form: `f${index}` } },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      })),
    });
  });
  afterAll(async () => {
    admin?.close();
    await controlPlane?.stop();
  });

  const bundleOf = (write: (pem: string) => string): Buffer => Buffer.from(write(controlPlane.caPem), 'latin1');
  const create = async (index: number): Promise<string> =>
    admin
      .post('/api/v1/namespaces/default/configmaps', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { generateName: 'form-', labels: { form: `f${index}` } },
      })
      .then(
        () => 'created',
        (error: unknown) => String(error),
      );

  it.each(FORMS.map(([name, write, isUsable], index) => ({ name, write, isUsable, index })))(
    'in the form of $name is read: $isUsable',
    async ({ write, isUsable, index }) => {
      // Until the API server knows the webhooks.
      const expected = isUsable ? 'connection refused' : 'unable to load root certificates';
      await expect.poll(async () => create(index), { interval: 200 }).toContain(expected);
      const { certificates } = decodeBundle(bundleOf(write).toString('latin1'));
      expect(certificates.some(({ ok }) => ok)).toBe(isUsable);
    },
  );
});
