import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeBundle } from '../../lambdas/x509/certificate-bundle.ts';
import { decodeCertificate } from '../../lambdas/x509/decode-certificate.ts';
import { pemBlocks } from '../../lambdas/x509/pem-blocks.ts';
import { runs } from '../runs.ts';
import { certificateInputs, pemInputs } from '../unit/x509/certificate-inputs.ts';
import { type Oracle, startOracle } from './oracle.ts';
import { realComponents } from './real.ts';

const real = await realComponents('agreement with the certificates that Go reads', 'oracle');
const RUNS = runs(12_000);

/**
 * Differences that are meant, by what Go says or what is said here: what Go checks by calculating with a key or by
 * parsing names of no use here; and what is not read here because it is too large, too deep or has something behind it.
 */
const GO_ONLY =
  /elliptic|point|ecdsa|ecdh|cannot parse URI|constraint|X25519|certificate policies|invalid basic constraints$/;
const HERE_ONLY =
  /follow its last element|bytes found|values deep|more than|extensions: version|tag number|octets$|length of|above zero|BOOLEAN|not a time|does not exist|missing|expected/;

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
      const read = [...pemBlocks(text)].filter(({ type, hasHeaders }) => type === 'CERTIFICATE' && !hasHeaders);
      const { certificates, problem } = decodeBundle(text);
      const isUsable = certificates.some((one) => one.ok && one.certificate.refused === undefined);
      if (parsed) usable += 1;
      if (problem !== undefined) skipped += 1;
      const ours = read.map(({ bytes }) => hash('sha256', bytes));
      if (JSON.stringify(ours) !== JSON.stringify(blocks) || isUsable !== parsed)
        disputed.push({ text, ours, blocks, isUsable, parsed });
    }
    expect({ usable, skipped, disputed: disputed.slice(0, 3) }).toEqual({ usable, skipped, disputed: [] });
    expect(Math.min(usable, skipped)).toBeGreaterThan(RUNS / 10);
  }, 300_000);
});
