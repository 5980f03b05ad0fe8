import type { CertificateRequest, DecodedRequest, GeneralName, RequestedExtension } from './certificate-request.ts';
import { DerReader, Refused, TAG } from './der.ts';
import { readName } from './distinguished-name.ts';
import { decodeSubjectAltName } from './general-names.ts';
import { OID, SIGNATURE_ALGORITHMS } from './object-identifiers.ts';
import { readPublicKey } from './public-key.ts';

/**
 * Decodes `spec.request` of a CertificateSigningRequest: one PEM block holding a PKCS#10 request (RFC 2986) in DER.
 *
 * Every byte is accounted for: bytes are accepted only if they have exactly one reading, which is also the signer's.
 * The signature is not checked here; see `verifyRequestSignature`.
 *
 * @returns the request, or the rule that the bytes broke. Any bytes give a value.
 */
export function decodeCertificateRequest(bytes: Uint8Array): DecodedRequest {
  try {
    return { ok: true, request: decode(decodePem(bytes)) };
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    return { ok: false, refusal: { code: problem.code, message: problem.message } };
  }
}

/** RFC 2986 §4. */
function decode(der: Buffer): CertificateRequest {
  const input = new DerReader(der);
  const request = input.enter(TAG.sequence, 'CertificationRequest');
  input.finish('CertificationRequest');

  const infoStart = request.position;
  const info = request.enter(TAG.sequence, 'CertificationRequestInfo');
  const toBeSigned = request.bytesSince(infoStart);
  readVersion(info);
  const subject = readName(info, 'subject');
  const keyStart = info.position;
  const publicKey = readPublicKey(info);
  const publicKeyInfo = info.bytesSince(keyStart);
  const { extensions, subjectAltNames } = readAttributes(info);
  info.finish('CertificationRequestInfo');

  const signatureAlgorithm = readSignatureAlgorithm(request);
  const signature = request.bitString('signature').rest();
  request.finish('CertificationRequest');

  return {
    subject,
    extensions,
    subjectAltNames,
    publicKey,
    publicKeyInfo,
    toBeSigned,
    signatureAlgorithm,
    signature,
  };
}

function readVersion(info: DerReader): void {
  const version = info.integer('version');
  if (version.length !== 1 || version[0] !== 0) {
    throw new Refused('UnsupportedVersion', 'version: only 0 exists (RFC 2986), another number found');
  }
}

interface Extensions {
  readonly extensions: readonly RequestedExtension[];
  readonly subjectAltNames: readonly GeneralName[];
}

/** `attributes [0]`: a kubelet sends one extensionRequest, or nothing. */
function readAttributes(info: DerReader): Extensions {
  const attributes = info.enter(0xa0, 'attributes');
  if (attributes.atEnd) return { extensions: [], subjectAltNames: [] };
  const what = 'extensionRequest attribute';
  const attribute = attributes.enter(TAG.sequence, 'attributes');
  expectExtensionRequest(attribute);
  const values = attribute.enter(TAG.set, what);
  attribute.finish(what);
  const sequence = values.enter(TAG.sequence, what);
  if (!values.atEnd) throw new Refused('DuplicateAttribute', `${what}: more than 1 value found, 1 allowed`);
  if (!attributes.atEnd) {
    expectExtensionRequest(attributes.enter(TAG.sequence, 'attributes'));
    throw new Refused('DuplicateAttribute', `${what}: more than 1 found, 1 allowed`);
  }
  return readExtensions(sequence);
}

function expectExtensionRequest(attribute: DerReader): void {
  const oid = attribute.objectIdentifier('attributes');
  if (oid === OID.extensionRequest) return;
  throw new Refused('UnexpectedStructure', `attributes: ${oid} found, only extensionRequest is allowed`);
}

/** RFC 5280 §4.1.2.9. */
function readExtensions(sequence: DerReader): Extensions {
  if (sequence.atEnd) throw new Refused('UnexpectedStructure', 'extensions: 0 found, at least 1 expected');
  const values = new Map<string, Buffer>();
  const extensions: RequestedExtension[] = [];
  while (!sequence.atEnd) {
    const extension = sequence.enter(TAG.sequence, 'extension');
    const oid = extension.objectIdentifier('extension');
    const critical = readCritical(extension, oid);
    values.set(oid, extension.octets(TAG.octetString, `extension ${oid}`));
    extension.finish(`extension ${oid}`);
    extensions.push({ oid, critical });
  }
  if (values.size < extensions.length) throw duplicates(extensions);
  const subjectAltName = values.get(OID.subjectAltName);
  return {
    extensions,
    subjectAltNames: subjectAltName === undefined ? [] : decodeSubjectAltName(subjectAltName),
  };
}

function readCritical(extension: DerReader, oid: string): boolean {
  if (extension.nextTag !== TAG.boolean) return false;
  if (extension.boolean(`extension ${oid}`)) return true;
  throw new Refused('NotDer', `extension ${oid}: critical FALSE is written out, DER leaves a default out`);
}

function duplicates(extensions: readonly RequestedExtension[]): Refused {
  const count = new Map<string, number>();
  for (const { oid } of extensions) count.set(oid, (count.get(oid) ?? 0) + 1);
  const [oid = '', found] = [...count].find(([, times]) => times > 1) ?? [];
  const name = oid === OID.subjectAltName ? 'subjectAltName extension' : `extension ${oid}`;
  return new Refused('DuplicateExtension', `${name}: ${found} found, 1 allowed`);
}

/** RSA: NULL, or absent as RFC 4055 §5 makes verifiers accept. ECDSA, Ed25519 and ML-DSA: absent. */
function readSignatureAlgorithm(request: DerReader): string {
  const what = 'signatureAlgorithm';
  const algorithm = request.enter(TAG.sequence, what);
  const oid = algorithm.objectIdentifier(what);
  const known = SIGNATURE_ALGORITHMS.get(oid);
  if (!algorithm.atEnd) {
    if (known?.key === 'RSA') algorithm.null(what);
    else if (known === undefined) algorithm.skip(what);
  }
  algorithm.finish(what);
  return oid;
}

/** A kubelet's request takes about 500 bytes of PEM; one with 100 names of 253 characters takes 35 KiB. */
const MAX_BYTES = 64 * 1024;

const BEGIN = '-----BEGIN CERTIFICATE REQUEST-----';
const END = '-----END CERTIFICATE REQUEST-----';

/**
 * Decodes one PEM block (RFC 7468 §3, §7) with nothing around it but one final line break. All lines of base64 are of
 * one length, the last may be shorter; line breaks are LF throughout or CRLF throughout. A reader that looks for the
 * first block, or skips what it does not know, therefore finds the same bytes.
 *
 * The label is the one that kube-apiserver accepts; `NEW CERTIFICATE REQUEST` is not.
 */
export function decodePem(bytes: Uint8Array): Buffer {
  if (bytes.length > MAX_BYTES) {
    throw new Refused('TooLarge', `the request: ${bytes.length} bytes found, ${MAX_BYTES} allowed`);
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (!text.startsWith(BEGIN)) throw notPem('no CERTIFICATE REQUEST block at the first byte');
  const lineBreak = text.charAt(BEGIN.length) === '\r' ? '\r\n' : '\n';
  const bodyStart = BEGIN.length + lineBreak.length;
  if (!text.startsWith(lineBreak, BEGIN.length)) throw notPem('text after the BEGIN line');

  const bodyEnd = text.indexOf('-', bodyStart);
  if (bodyEnd < 0 || !text.startsWith(END, bodyEnd)) throw notPem('no END CERTIFICATE REQUEST line');
  const after = text.slice(bodyEnd + END.length);
  if (after !== '' && after !== lineBreak) throw notPem(`${after.length} bytes found after the END line`);
  return decodeBase64(text.slice(bodyStart, bodyEnd), lineBreak);
}

function decodeBase64(body: string, lineBreak: string): Buffer {
  if (!body.endsWith(lineBreak)) throw notPem('no line break before the END line');
  const lines = body.split(lineBreak);
  lines.pop();
  const width = lines[0]?.length ?? 0;
  if (width === 0) throw notPem('no base64 text');
  lines.forEach((line, index) => {
    const last = index === lines.length - 1;
    if (last ? line.length === 0 || line.length > width : line.length !== width) {
      throw notPem(`line ${index + 2} has ${line.length} characters, the first line of base64 has ${width}`);
    }
  });
  const base64 = lines.join('');
  const der = Buffer.from(base64, 'base64');
  // Buffer.from accepts anything; the comparison requires the canonical encoding (RFC 4648 §3.5).
  if (der.toString('base64') !== base64) {
    throw notPem('base64 with a foreign character, wrong padding or spare bits');
  }
  return der;
}

function notPem(found: string): Refused {
  return new Refused('NotPem', `the request is not one PEM block: ${found}`);
}
