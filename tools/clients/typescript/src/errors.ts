import type { FieldError, Problem, ProblemCode } from './generated/operations.js';

/** Every error of this library is one of these, but for wrong arguments (TypeError) and the reason of a caller's signal. */
export class LatchkeyError extends Error {
  override name = 'LatchkeyError';
}

/** No answer came, or not all of it. Whether the request was carried out is not known. */
export class NetworkError extends LatchkeyError {
  override name = 'NetworkError';
}

/** No answer came in time. */
export class TimeoutError extends NetworkError {
  override name = 'TimeoutError';
}

/** The service answered that it did not do what was asked. */
export class ApiError extends LatchkeyError {
  override name = 'ApiError';
  readonly status: number;
  /** The stable part, for programs; null where the answer is not the service's, such as one of a proxy. */
  readonly code: ProblemCode | null;
  /** The problem document (RFC 9457). */
  readonly problem: Problem | null;
  readonly requestId: string | null;
  /** Of 422 and 400: what is wrong with which member, parameter or field. */
  readonly fields: FieldError[];
  /** From Retry-After, in milliseconds. */
  readonly retryAfterMs: number | null;

  constructor(status: number, problem: Problem | null, requestId: string | null, retryAfterMs: number | null) {
    super(problem ? `${status} ${problem.code}: ${problem.detail}` : `${status}: the answer is no problem document`);
    this.status = status;
    this.code = problem?.code ?? null;
    this.problem = problem;
    this.requestId = problem?.request_id ?? requestId;
    this.fields = problem?.errors ?? [];
    this.retryAfterMs = retryAfterMs;
  }
}

/** 400: the request was not understood. */
export class BadRequestError extends ApiError {
  override name = 'BadRequestError';
}
/** 401: there is no valid key. */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError';
}
/** 403: the key is turned off, or may not do this. */
export class PermissionDeniedError extends ApiError {
  override name = 'PermissionDeniedError';
}
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}
/** 409: the state of a record forbids it. */
export class ConflictError extends ApiError {
  override name = 'ConflictError';
}
/** 410: what was asked for is no longer kept. */
export class GoneError extends ApiError {
  override name = 'GoneError';
}
/** 412 and 428: somebody else has changed the record, or the request must say which version it means. */
export class PreconditionFailedError extends ApiError {
  override name = 'PreconditionFailedError';
}
/** 422: members of the body are wrong; `fields` says which. */
export class ValidationError extends ApiError {
  override name = 'ValidationError';
}
/** 429: beyond the limits of the key, and the wait is longer than this client waits. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError';
}
/** 5xx. */
export class ServerError extends ApiError {
  override name = 'ServerError';
}

const classes: Record<number, typeof ApiError> = {
  400: BadRequestError, 401: AuthenticationError, 403: PermissionDeniedError, 404: NotFoundError, 409: ConflictError, 410: GoneError,
  412: PreconditionFailedError, 422: ValidationError, 428: PreconditionFailedError, 429: RateLimitError,
};

export function errorOf(status: number, problem: Problem | null, requestId: string | null, retryAfterMs: number | null): ApiError {
  const Class = classes[status] ?? (status >= 500 ? ServerError : ApiError);
  return new Class(status, problem, requestId, retryAfterMs);
}
