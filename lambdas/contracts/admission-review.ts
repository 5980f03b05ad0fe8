import * as z from 'zod/mini';
import { matching, readJson } from './contract.ts';

/** A review of a real request is 2 kB. Larger ones are not read. Bytes. */
const MAX_REVIEW = 64 * 1_024;
/**
 * kube-apiserver makes a random UUID for each review. Source: apiserver/pkg/admission/plugin/webhook/request,
 * `uuid.NewUUID`.
 */
const UID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Source: Kubernetes API reference, admission.k8s.io/v1 AdmissionReview. Only the uid is read: claims of a cluster are
 * not trusted.
 */
const AdmissionReview = z.object({ request: z.object({ uid: matching(UID, 'a UUID') }) });

/** The uid that an answer must repeat; undefined if the body has none. Never throws. */
export function reviewUid(body: string): string | undefined {
  const review = readJson(AdmissionReview, body, MAX_REVIEW);
  return review.ok ? review.value.request.uid : undefined;
}

/** The part of a review that is read. */
export function reviewOf(uid: string): string {
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid } });
}

/**
 * The answer that allows the object.
 *
 * @param uid of the request; another or a missing one is a failure to kube-apiserver, which with `failurePolicy:
 * Ignore` also allows the object
 */
export function allowedReview(uid: string | undefined): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: uid ?? '', allowed: true },
  };
}
