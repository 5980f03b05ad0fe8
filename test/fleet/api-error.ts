/** One entry of `details.causes` in the Status of an invalid object. */
export interface FieldProblem {
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueForbidden';
  readonly field: string;
  readonly message: string;
}

/** What a Status says an error is about. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The plural, or the kind where validation failed: the real server does both. */
  readonly kind?: string;
  readonly causes?: readonly Omit<FieldProblem, 'field'>[];
  readonly retryAfterSeconds?: number;
}

/** A resource as error texts name it. */
export interface Named {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** Thrown by the simulated API for every answer that is a failure; `body` is the Status object as JSON. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;
  readonly reason: string | undefined;
  readonly details: StatusDetails | undefined;
  readonly metadata: { readonly continue?: string };

  constructor(
    code: number,
    reason: string | undefined,
    message: string,
    details?: StatusDetails,
    metadata: ApiError['metadata'] = {},
  ) {
    super(message);
    this.metadata = metadata;
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  get body(): string {
    const { code, reason, message, details, metadata } = this;
    const status = { kind: 'Status', apiVersion: 'v1', metadata, status: 'Failure' };
    return JSON.stringify({ ...status, message, reason, details, code });
  }
}

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export const unauthorized = (): ApiError => new ApiError(401, 'Unauthorized', 'Unauthorized');

export const methodNotAllowed = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

/** An error that the real server passes on without a reason of its own. */
export const internal = (message: string): ApiError => new ApiError(500, undefined, message);

export const forbidden = (resource: Named, name: string | undefined, why: string): ApiError =>
  new ApiError(403, 'Forbidden', `${object(resource, name)} is forbidden: ${why}`, detailsOf(resource, name));

export const notFound = (resource: Named, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${object(resource, name)} not found`, detailsOf(resource, name));

export const alreadyExists = (resource: Named, name: string): ApiError =>
  new ApiError(409, 'AlreadyExists', `${object(resource, name)} already exists`, detailsOf(resource, name));

export const conflict = (resource: Named, name: string, why: string): ApiError =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${object(resource, name)}: ${why}`,
    detailsOf(resource, name),
  );

export function invalid(resource: Named, name: string, problems: readonly FieldProblem[]): ApiError {
  const texts = problems.map(({ field, message }) => `${field}: ${message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const kind = { ...resource, plural: resource.kind };
  return new ApiError(422, 'Invalid', `${qualified(kind)} "${name}" is invalid: ${list}`, {
    ...detailsOf(kind, name === '' ? undefined : name),
    causes: problems.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

/** `machines.cluster.x-k8s.io`; resources of the core group have no dot. */
function qualified({ group, plural }: Named): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function object(resource: Named, name: string | undefined): string {
  return name === undefined ? qualified(resource) : `${qualified(resource)} "${name}"`;
}

function detailsOf({ group, plural }: Named, name: string | undefined): StatusDetails {
  return { ...(name === undefined ? {} : { name }), ...(group === '' ? {} : { group }), kind: plural };
}
