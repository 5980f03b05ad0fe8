import type { RequestState } from '../../contracts/observation.ts';
import { listSigningRequests } from '../../kubernetes/certificate-signing-requests.ts';
import { list, text } from '../../resources/fields.ts';
import { instant } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { collectIssued } from '../issued-certificates.ts';
import { cutShort, readList } from '../read-list.ts';
import { countRequests } from '../request-counts.ts';

const MAX_TEXT = 1024;
/** Far more than a request has, which has one of each type. */
const MAX_CONDITIONS = 16;

/**
 * All CertificateSigningRequests: how many of whom are in which state, and the certificates that were issued within the hour. Clusters with half a
 * million of them have been seen; what was counted before the deadline is a lower bound.
 */
export const signingRequests: AuditSource = {
  id: 'signing-requests',
  stage: 'second',
  deadlineMs: 20_000,
  off: () => undefined,
  async observe(context) {
    const { target, now, signal } = context;
    const told = { source: 'signing-requests' as const, observedAt: new Date(now()).toISOString() };
    const counts = countRequests(now());
    const issued = collectIssued();
    const unread = { malformed: 0, long: 0 };
    const reading = await readList(listSigningRequests(target.workload, { signal }), (item) => {
      const request = readRequest(item);
      if (typeof request === 'string') unread[request] += 1;
      else {
        counts.add(request);
        const certificate = text(item, 'status', 'certificate') ?? '';
        if (certificate !== '') issued.add({ ...request, certificate });
      }
      return 'more';
    });
    const cut = cutShort(told, reading).map((short) => ({
      ...short,
      message: `${short.message}; ${reading.count} requests were counted until then`,
    }));
    return {
      observations: [
        ...counts.observations(told.observedAt),
        ...(await issued.observations(context)),
        ...(unread.malformed === 0 ? [] : [{ kind: 'unread' as const, ...told, ...strange(unread.malformed) }]),
        ...(unread.long === 0 ? [] : [{ kind: 'unread' as const, ...told, ...tooLong(unread.long) }]),
        ...cut,
      ],
      count: reading.count,
    };
  },
};

/** No API server writes such: any request may be among them, so the list counts as not read, and what was counted before holds. */
function strange(count: number) {
  return {
    problem: 'malformed',
    message: `${count} CertificateSigningRequests have no name, signer, requester or time of creation as every API server writes them`,
    remedy: 'Look at them: kubectl get csr -o yaml.',
  };
}

/** A user may have such a name, which must not hide the others. */
function tooLong(count: number) {
  return {
    where: 'CertificateSigningRequests with long names',
    problem: 'malformed',
    message: `${count} have a name, signer or requester of more than ${MAX_TEXT} characters`,
    remedy: 'Look at them: kubectl get csr -o yaml.',
  };
}

function readRequest(item: unknown) {
  const name = text(item, 'metadata', 'name');
  const signer = text(item, 'spec', 'signerName');
  const requester = text(item, 'spec', 'username');
  const createdAt = instant(text(item, 'metadata', 'creationTimestamp'));
  if (name === undefined || signer === undefined || requester === undefined || createdAt === undefined)
    return 'malformed';
  if ([name, signer, requester].some(({ length }) => length > MAX_TEXT)) return 'long';
  return { name, signer, requester, createdAt, ...stateOf(item) };
}

/** Source: certificates.k8s.io/v1, RequestConditionType. Failed is of the signer, after an approval. */
function stateOf(item: unknown): { readonly state: RequestState; readonly message: string | undefined } {
  if ((text(item, 'status', 'certificate') ?? '') !== '') return { state: 'issued', message: undefined };
  const conditions = list(item, 'status', 'conditions').slice(0, MAX_CONDITIONS);
  const having = (type: string) =>
    conditions.find((condition) => text(condition, 'type') === type && text(condition, 'status') !== 'False');
  for (const [type, state] of [
    ['Denied', 'denied'],
    ['Failed', 'failed'],
  ] as const) {
    const condition = having(type);
    if (condition !== undefined) return { state, message: messageOf(condition) };
  }
  return { state: having('Approved') === undefined ? 'pending' : 'approved', message: undefined };
}

function messageOf(condition: unknown): string | undefined {
  const said = [text(condition, 'reason'), text(condition, 'message')].filter(
    (part) => part !== undefined && part !== '',
  );
  return said.length === 0 ? undefined : said.join(': ');
}
